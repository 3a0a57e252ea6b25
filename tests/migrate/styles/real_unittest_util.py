# In the way of a test suite's helper: one function asks over every protocol, with and without shared memory.
import argparse
import os
import sys
import unittest
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.api.server_status_pb2 as server_status
import tensorrtserver.shared_memory as shm
import tensorrtserver.cuda_shared_memory as cudashm

URL = os.environ["TRTIS_URL"]
PROTOCOL = os.environ["TRTIS_PROTOCOL"]
_last_request_id = 0


def infer_exact(tester, model_name, batch_size, input_dtype, tensor_shape, correlation_id=0,
                use_system_shared_memory=False, swap=False, outputs=("OUTPUT0", "OUTPUT1")):
    configs = [(URL, ProtocolType.from_str(PROTOCOL))]
    input0_list, input1_list, expected0_list = [], [], []
    for b in range(batch_size):
        in0 = np.arange(16, dtype=input_dtype).reshape(tensor_shape) + b
        in1 = np.ones(tensor_shape, dtype=input_dtype)
        input0_list.append(in0)
        input1_list.append(in1)
        expected0_list.append(in0 + in1)

    if use_system_shared_memory:
        input_size = batch_size * 16 * np.dtype(input_dtype).itemsize
        ip0_handle = shm.create_shared_memory_region("exact_ip0", "/exact_ip0", input_size)
        ip1_handle = shm.create_shared_memory_region("exact_ip1", "/exact_ip1", input_size)
        shm.set_shared_memory_region(ip0_handle, input0_list)
        shm.set_shared_memory_region(ip1_handle, input1_list)
        shared_memory_ctx = SharedMemoryControlContext(URL, ProtocolType.from_str(PROTOCOL), verbose=False)
        for handle in (ip0_handle, ip1_handle):
            shared_memory_ctx.register(handle)

    output_req = {}
    for name in outputs:
        output_req[name] = InferContext.ResultFormat.RAW
    for config in configs:
        ctx = InferContext(config[0], config[1], model_name, -1, correlation_id=correlation_id, verbose=True and False)
        if use_system_shared_memory:
            results = ctx.run({"INPUT0": ip0_handle, "INPUT1": ip1_handle}, output_req, batch_size)
        else:
            results = ctx.run({"INPUT0": input0_list, "INPUT1": input1_list}, output_req, batch_size)
        tester.assertEqual(ctx.get_last_request_model_name(), model_name)
        tester.assertEqual(ctx.get_last_request_model_version(), 1)
        tester.assertEqual(len(results), len(outputs))
        for (result_name, result_val) in results.items():
            for b in range(batch_size):
                if result_name == "OUTPUT0":
                    tester.assertTrue(np.array_equal(result_val[b], expected0_list[b]),
                                      "{}, OUTPUT0 expected: {}, got {}".format(model_name, expected0_list[b], result_val[b]))

    if use_system_shared_memory:
        shared_memory_ctx.unregister(ip0_handle)
        shared_memory_ctx.unregister(ip1_handle)
        shm.destroy_shared_memory_region(ip0_handle)
        shm.destroy_shared_memory_region(ip1_handle)
    return results


class InferTest(unittest.TestCase):

    def _full_exact(self, input_dtype, shape, **kwargs):
        for batch_size in (1, 4):
            infer_exact(self, "simple", batch_size, input_dtype, shape, **kwargs)

    def test_raw_iii(self):
        self._full_exact(np.int32, (16,))

    def test_shared(self):
        self._full_exact(np.int32, (16,), use_system_shared_memory=True)

    def test_one_output(self):
        self._full_exact(np.int32, (16,), outputs=("OUTPUT0",))

    def test_wrong_type(self):
        try:
            infer_exact(self, "simple", 1, np.float32, (15,))
            self.assertTrue(False, "expected error")
        except InferenceServerException as ex:
            self.assertEqual("inference:0", ex.server_id() or "inference:0")
        except ValueError:
            pass

    def test_unknown_model(self):
        with self.assertRaises(InferenceServerException):
            infer_exact(self, "simple_unknown", 1, np.int32, (16,))

    def test_status(self):
        ctx = ServerStatusContext(URL, ProtocolType.from_str(PROTOCOL), "simple", True and False)
        ss = ctx.get_server_status()
        self.assertEqual(os.environ["TRTIS_PROTOCOL"], PROTOCOL)
        self.assertEqual(server_status.SERVER_READY, ss.ready_state)
        self.assertEqual(len(ss.model_status), 1)
        self.assertTrue("simple" in ss.model_status, "expected status for model")
        for (k, v) in ss.model_status["simple"].version_status.items():
            self.assertEqual(v.ready_state, ModelReadyState.MODEL_READY) if "ModelReadyState" in globals() else None
        self.assertGreater(ss.uptime_ns, 0)


if __name__ == '__main__':
    result = unittest.main(argv=["x"], exit=False, verbosity=0).result
    print(result.testsRun, len(result.failures), len(result.errors))

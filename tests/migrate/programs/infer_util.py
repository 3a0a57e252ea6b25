import sys, os
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm
from functools import partial
if sys.version_info >= (3, 0):
    import queue
else:
    import Queue as queue
_seen_request_ids = set()
def _range_repr_dtype(dtype):
    if dtype == np.float64: return np.int32
    return dtype
class UserData:
    def __init__(self):
        self._completed_requests = queue.Queue()
def completion_callback(user_data, infer_ctx, request_id):
    user_data._completed_requests.put(request_id)
def infer_exact(tester, url, proto, pf, tensor_shape, batch_size, input_dtype, output0_raw=True, output1_raw=True,
                model_version=None, use_http=True, use_grpc=True, streaming=False, correlation_id=0):
    configs = []
    if use_http and proto == "http":
        configs.append((url, ProtocolType.HTTP, False))
    if use_grpc and proto == "grpc":
        configs.append((url, ProtocolType.GRPC, False))
    for config in configs:
        model_name = pf
        ctx = InferContext(config[0], config[1], model_name, model_version,
                           correlation_id=correlation_id, streaming=config[2], verbose=False)
        output0_list, output1_list, in0, in1 = [], [], [], []
        for b in range(batch_size):
            i0 = np.random.RandomState(b).randint(0, 50, size=tensor_shape).astype(input_dtype)
            i1 = np.ones(tensor_shape, dtype=input_dtype)
            in0.append(i0); in1.append(i1)
            output0_list.append(i0 + i1); output1_list.append(i0 - i1)
        output_req = {}
        OUTPUT0, OUTPUT1 = "OUTPUT0", "OUTPUT1"
        if output0_raw:
            output_req[OUTPUT0] = InferContext.ResultFormat.RAW
        else:
            output_req[OUTPUT0] = (InferContext.ResultFormat.CLASS, 3)
        if output1_raw:
            output_req[OUTPUT1] = InferContext.ResultFormat.RAW
        else:
            output_req[OUTPUT1] = (InferContext.ResultFormat.CLASS, 3)
        results = ctx.run({"INPUT0": in0, "INPUT1": in1}, output_req, batch_size)
        if model_version is not None:
            tester.assertEqual(ctx.get_last_request_model_version(), model_version)
        print(len(results))
        for (result_name, result_val) in iteritems(results):
            for b in range(batch_size):
                if result_name == OUTPUT0 and output0_raw:
                    tester.assertTrue(np.array_equal(result_val[b], output0_list[b]))
                elif result_name == OUTPUT1 and output1_raw:
                    tester.assertTrue(np.array_equal(result_val[b], output1_list[b]))
                else:
                    class_list = result_val[b]
                    tester.assertEqual(len(class_list), 3)
                    for idx, ctuple in enumerate(class_list):
                        print(ctuple[0], ctuple[1], ctuple[2])
    return results
class T:
    def assertEqual(self, a, b): assert a == b, (a, b)
    def assertTrue(self, a): assert a
for bs in (1, 3):
    infer_exact(T(), sys.argv[2], sys.argv[4], "simple", (16,), bs, np.int32)
infer_exact(T(), sys.argv[2], sys.argv[4], "simple", (16,), 2, np.int32, output0_raw=False, model_version=1)

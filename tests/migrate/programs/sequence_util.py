import sys, time, threading, traceback, unittest, os
from functools import partial
import numpy as np
from tensorrtserver.api import *
if sys.version_info >= (3, 0):
    import queue
else:
    import Queue as queue
_deferred_exceptions_lock = threading.Lock()
_deferred_exceptions = []
URL = sys.argv[2]; PROTO = sys.argv[4]
class UserData:
    def __init__(self):
        self._completed_requests = queue.Queue()
def completion_callback(user_data, infer_ctx, request_id):
    user_data._completed_requests.put(request_id)
class SequenceBatcherTestUtil(unittest.TestCase):
    def setUp(self):
        global _deferred_exceptions
        _deferred_exceptions = []
    def add_deferred_exception(self, ex):
        global _deferred_exceptions
        with _deferred_exceptions_lock:
            _deferred_exceptions.append(ex)
    def check_deferred_exception(self):
        with _deferred_exceptions_lock:
            if len(_deferred_exceptions) > 0:
                raise _deferred_exceptions[0]
    def check_sequence(self, model_name, input_dtype, correlation_id, values, expected_result, protocol, batch_size=1):
        configs = []
        if protocol == "http": configs.append((URL, ProtocolType.HTTP, False))
        if protocol == "grpc": configs.append((URL, ProtocolType.GRPC, False))
        if protocol == "streaming": configs.append((URL, ProtocolType.GRPC, True))
        for config in configs:
            ctx = InferContext(config[0], config[1], model_name, correlation_id=correlation_id, streaming=config[2], verbose=False)
            seq_start_ms = int(round(time.time() * 1000))
            result = None
            for flag_str, value, thresholds in values:
                flags = InferRequestHeader.FLAG_NONE
                if flag_str is not None:
                    if "start" in flag_str:
                        flags = flags | InferRequestHeader.FLAG_SEQUENCE_START
                    if "end" in flag_str:
                        flags = flags | InferRequestHeader.FLAG_SEQUENCE_END
                results = ctx.run({"INPUT": [np.full((1,), value, dtype=input_dtype)] * batch_size},
                                  {"OUTPUT": InferContext.ResultFormat.RAW}, batch_size=batch_size, flags=flags)
                self.assertEqual(len(results), 1)
                self.assertTrue("OUTPUT" in results)
                result = results["OUTPUT"][0][0]
            self.assertEqual(result, expected_result)
    def test_simple(self):
        """Simple."""
        try:
            self.check_sequence("sequence_sum", np.int32, 1001, (("start", 1, None), (None, 2, None), ("end", 3, None)), 6, PROTO)
            self.check_deferred_exception()
        except InferenceServerException as ex:
            self.assertTrue(False, "unexpected error {}".format(ex))
    def test_no_start(self):
        """No start."""
        try:
            self.check_sequence("sequence_sum", np.int32, 1002, ((None, 1, None), ("end", 3, None)), 6, PROTO)
            self.assertTrue(False)
        except InferenceServerException as ex:
            self.assertTrue("START" in ex.message())
    def test_threads(self):
        """Threads."""
        ts = []
        for k in range(3):
            ts.append(threading.Thread(target=self.check_sequence, args=("sequence_sum", np.int32, 1010 + k, (("start", k, None), ("end", 3, None)), 3 + k, PROTO)))
        for t in ts: t.start()
        for t in ts: t.join()
        self.assertEqual(len(ts), 3)
        self.check_deferred_exception()
if __name__ == '__main__':
    res = unittest.TestResult(); unittest.defaultTestLoader.loadTestsFromTestCase(SequenceBatcherTestUtil).run(res)
    print(res.testsRun, len(res.failures), len(res.errors)); [print(e[1]) for e in res.errors + res.failures]

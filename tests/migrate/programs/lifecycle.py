import sys, unittest, time
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.api.server_status_pb2 as server_status
URL = sys.argv[2]; PAIRS = [(URL, ProtocolType.from_str(sys.argv[4]))]
class LifeCycleTest(unittest.TestCase):
    def test_parse_error_noexit(self):
        """Parse error noexit."""
        for pair in PAIRS:
            try:
                ctx = ServerStatusContext(pair[0], pair[1], None, False)
                ss = ctx.get_server_status()
                self.assertEqual(ss.id, ss.id)
                self.assertEqual(server_status.SERVER_READY, ss.ready_state)
                hctx = ServerHealthContext(pair[0], pair[1], False)
                self.assertTrue(hctx.is_ready())
                self.assertTrue(hctx.is_live())
            except InferenceServerException as ex:
                self.assertTrue(False, "unexpected error {}".format(ex))
    def test_versions(self):
        """Versions."""
        for pair in PAIRS:
            ctx = ServerStatusContext(pair[0], pair[1], "simple", False)
            ss = ctx.get_server_status()
            self.assertEqual(len(ss.model_status), 1)
            self.assertTrue("simple" in ss.model_status, "expected status for simple")
            for (k, v) in ss.model_status["simple"].version_status.items():
                self.assertEqual(v.ready_state, server_status.MODEL_READY)
            self.assertEqual(list(ss.model_status["simple"].version_status.keys()), [1])
    def test_unknown(self):
        """Unknown."""
        for pair in PAIRS:
            try:
                ctx = ServerStatusContext(pair[0], pair[1], "nope", False)
                ctx.get_server_status()
                self.assertTrue(False)
            except InferenceServerException as ex:
                self.assertTrue(ex.message().startswith("no status available for unknown model"))
    def test_control(self):
        """Control."""
        for pair in PAIRS:
            ctx = ModelControlContext(pair[0], pair[1], False)
            try:
                ctx.load("simple")
                ctx.unload("no_model_like_this")
            except InferenceServerException as ex:
                self.assertTrue(len(ex.message()) > 0)
    def test_infer_unknown_version(self):
        """Infer unknown version."""
        for pair in PAIRS:
            try:
                c = InferContext(pair[0], pair[1], "simple", 77)
                c.run({"INPUT0": [np.zeros(16, np.int32)], "INPUT1": [np.zeros(16, np.int32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
                self.assertTrue(False)
            except InferenceServerException as ex:
                self.assertTrue(len(ex.message()) > 5)
res = unittest.TestResult(); unittest.defaultTestLoader.loadTestsFromTestCase(LifeCycleTest).run(res)
print(res.testsRun, len(res.failures), len(res.errors)); [print(e[1]) for e in res.errors + res.failures]

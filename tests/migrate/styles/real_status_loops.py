# In the way of a test suite: status of several models, each in a turn of two loops.
import os
import unittest
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.api.server_status_pb2 as server_status

URL = os.environ["TRTIS_URL"]
PROTO = ProtocolType.from_str(os.environ["TRTIS_PROTOCOL"])


class LifeCycleTest(unittest.TestCase):
    def test_ready(self):
        for pair in [(URL, PROTO)]:
            hctx = ServerHealthContext(pair[0], pair[1], True and False)
            self.assertTrue(hctx.is_ready())
            self.assertTrue(hctx.is_live())

    def test_versions(self):
        for model_name in ("multi_version", "simple"):
            for pair in [(URL, PROTO)]:
                ctx = ServerStatusContext(pair[0], pair[1], model_name, False)
                ss = ctx.get_server_status()
                self.assertEqual(os.environ.get("TRITON_SERVER_ID", ss.id), ss.id)
                self.assertEqual(server_status.SERVER_READY, ss.ready_state)
                self.assertEqual(len(ss.model_status), 1)
                self.assertTrue(model_name in ss.model_status, "expected status for model " + model_name)
                for (k, v) in sorted(ss.model_status[model_name].version_status.items()):
                    self.assertEqual(v.ready_state, server_status.MODEL_READY)
                    print(model_name, k, v.ready_state)

    def test_unknown(self):
        try:
            ctx = ServerStatusContext(URL, PROTO, "unknown_model", False)
            ctx.get_server_status()
            self.assertTrue(False)
        except InferenceServerException as ex:
            self.assertTrue(ex.message().startswith("no status available for unknown model") or
                            "unknown" in ex.message())


if __name__ == '__main__':
    unittest.main()

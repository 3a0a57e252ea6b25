import os
import sys
import unittest
import numpy as np
from tensorrtserver.api import *


class InferTest(unittest.TestCase):
    """What our deployment must be able to do."""

    def setUp(self):
        self.url_ = os.environ["TRTIS_URL"]
        self.protocol_ = ProtocolType.from_str(os.environ["TRTIS_PROTOCOL"])

    def check_exact(self, model_name, dtype, batch_size=1):
        ctx = InferContext(self.url_, self.protocol_, model_name)
        data = [np.arange(6).astype(dtype) for _ in range(batch_size)]
        results = ctx.run({"INPUT0": data}, {"OUTPUT0": InferContext.ResultFormat.RAW}, batch_size)
        self.assertEqual(len(results["OUTPUT0"]), batch_size)
        for b in range(batch_size):
            self.assertTrue(np.array_equal(results["OUTPUT0"][b], data[b]))
        print("%s x %d" % (model_name, batch_size))

    def test_a_types(self):
        """The identity models give back what they are sent."""
        self.check_exact("identity_int8", np.int8)
        self.check_exact("identity_uint16", np.uint16)
        self.check_exact("identity_fp64", np.float64)

    def test_b_batch(self):
        """Two entries come back as two."""
        self.check_exact("identity_fp32", np.float32, batch_size=2)

    def test_c_unknown_model(self):
        """A model that is not there is refused."""
        with self.assertRaises(InferenceServerException):
            InferContext(self.url_, self.protocol_, "wrong_name").run(
                {"INPUT0": [np.zeros(1, np.float32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
        print("refused")

    def test_d_status(self):
        """The server is up."""
        self.assertTrue(ServerHealthContext(self.url_, self.protocol_).is_live())
        status = ServerStatusContext(self.url_, self.protocol_, "simple").get_server_status()
        self.assertEqual(status.model_status["simple"].config.max_batch_size, 8)
        print("up")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

# Everything our jobs need of TRTIS, in one object that is opened before and closed afterwards.
from __future__ import print_function
import argparse
import sys
import numpy as np
from tensorrtserver.api import *


class Session:
    MODEL = "simple"

    def __init__(self, url, protocol, verbose=False):
        self.health_ctx = self.status_ctx = self.infer_ctx = None
        self.url = url
        self.protocol = ProtocolType.from_str(protocol)
        self.verbose = verbose

    def open(self):
        self.health_ctx = ServerHealthContext(self.url, self.protocol, self.verbose)
        self.status_ctx = ServerStatusContext(self.url, self.protocol, self.MODEL, self.verbose)
        self.infer_ctx = InferContext(self.url, self.protocol, self.MODEL, verbose=self.verbose)
        return self

    def check(self):
        if not self.health_ctx.is_live() or not self.health_ctx.is_ready():
            raise RuntimeError("server is not ready")

    def batch_limit(self):
        return self.status_ctx.get_server_status().model_status[self.MODEL].config.max_batch_size

    def add(self, rows):
        first = [np.full((16,), one, dtype=np.int32) for one, _ in rows]
        second = [np.full((16,), other, dtype=np.int32) for _, other in rows]
        result = self.infer_ctx.run(
            {"INPUT0": first, "INPUT1": second},
            {"OUTPUT0": InferContext.ResultFormat.RAW, "OUTPUT1": InferContext.ResultFormat.RAW},
            len(rows))
        return [(int(s[0]), int(d[0])) for s, d in zip(result["OUTPUT0"], result["OUTPUT1"])]

    def close(self):
        self.infer_ctx.close()
        self.status_ctx.close()
        self.health_ctx.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url", default="localhost:8000")
    parser.add_argument("-i", "--protocol", default="http")
    flags = parser.parse_args()
    session = Session(flags.url, flags.protocol).open()
    try:
        session.check()
        print("at most", session.batch_limit())
        print(session.add([(3, 1), (7, 9)]))
        session.add([(1, 2)] * 99)
    except InferenceServerException as e:
        print("refused:", type(e).__name__)
    finally:
        session.close()
    sys.exit(0)

import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType


class AddSub(InferContext):
    """simple, but with numbers"""

    def __init__(self, url, protocol):
        InferContext.__init__(self, url, protocol, "simple", -1, False)
        self.calls = 0

    def add(self, a, b):
        self.calls += 1
        out = self.run({"INPUT0": [np.full(16, a, np.int32)], "INPUT1": [np.full(16, b, np.int32)]},
                       {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
        return int(out["OUTPUT0"][0][0])

    def close(self):
        print("closed after", self.calls, "calls")
        InferContext.close(self)


client = AddSub(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
print(client.add(1, 2), client.add(40, 2))
client.close()

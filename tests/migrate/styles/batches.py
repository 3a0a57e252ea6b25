import sys
from tensorrtserver.api import *


class Model:
    def __init__(self, url, protocol):
        self.ctx = InferContext(url, protocol, "simple")

    def add(self, left, right):
        result = self.ctx.run({"INPUT0": left, "INPUT1": right}, {
            "OUTPUT0": InferContext.ResultFormat.RAW, "OUTPUT1": InferContext.ResultFormat.RAW
        }, batch_size=len(left))
        return np.array(result["OUTPUT0"]), result["OUTPUT1"][0]


class Labels:
    def __init__(self, url, protocol):
        self.ctx, self.output = InferContext(url, protocol, "classify"), "OUTPUT"

    def best(self, batch):
        size = len(batch)
        return self.ctx.run({"INPUT": batch}, {
            self.output: (InferContext.ResultFormat.CLASS, 2)
        }, size)[self.output]


protocol = ProtocolType.from_str(sys.argv[2])
rows = [np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32)]
print(Model(sys.argv[1], protocol).add(rows, rows[::-1]))
labels = Labels(sys.argv[1], protocol)
print(labels.best([np.arange(10, dtype=np.float32)] * 2))

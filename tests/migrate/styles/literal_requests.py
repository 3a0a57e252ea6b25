import sys
import numpy as np
from tensorrtserver.api import *

ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "simple")
row = np.arange(16, dtype=np.int32)
sums = ctx.run({"INPUT0": [row], "INPUT1": (row + 1,)}, {
    "OUTPUT0": InferContext.ResultFormat.RAW,
    "OUTPUT1": InferContext.ResultFormat.RAW,
})
print(sums)
total = ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
print(total["OUTPUT0"][0], len(total["OUTPUT0"]))
numbers = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_int32")
same = numbers.run({"INPUT0": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
print([list(entry) for entry in same["OUTPUT0"]])
rows = [row, row + 1]
for batch in (rows, rows * 2):
    size = len(batch)
    same = numbers.run({"INPUT0": batch}, {"OUTPUT0": InferContext.ResultFormat.RAW}, size)
    print(np.array(same["OUTPUT0"]).sum(), numbers.run({"INPUT0": [row] * 3}, {
        "OUTPUT0": InferContext.ResultFormat.RAW}, 3)["OUTPUT0"][2])


def classes(url, name="x"):
    model = "classify"
    ctx = InferContext(url, ProtocolType.from_str(sys.argv[2]), model)
    row = np.arange(10, dtype=np.float32)
    return ctx.run({"INPUT": [row, row[::-1]]}, {
        "OUTPUT": (InferContext.ResultFormat.CLASS, 2)}, batch_size=2)


print(classes(sys.argv[1]))

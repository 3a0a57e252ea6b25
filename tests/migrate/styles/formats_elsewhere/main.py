import sys

import numpy as np
import settings
import waiting
from tensorrtserver.api import InferContext

url, protocol = sys.argv[1], settings.PROTOCOLS[sys.argv[2]]
row = np.arange(16, dtype=np.int32)
inputs = {"INPUT0": [row], "INPUT1": [row]}
ctx = InferContext(url, protocol, "simple")
print(ctx.run(inputs, {"OUTPUT0": settings.RAW})["OUTPUT0"][0])
print(ctx.run(inputs, settings.ADDER)["OUTPUT0"][0][-1], waiting.first_ready(url, protocol, inputs))
best = InferContext(url, protocol, "classify")
print(best.run({"INPUT": [np.arange(10, dtype=np.float32)]}, {"OUTPUT": (settings.CLASS, 2)})["OUTPUT"][0])
total = InferContext(url, protocol, "sequence_sum")
for number, flags in enumerate((1, 2)):
    result = total.run({"INPUT": [np.array([number + 4], np.int32)]}, {"OUTPUT": settings.RAW}, 1, flags, corr_id=7405)
    print(result["OUTPUT"][0], total.correlation_id())

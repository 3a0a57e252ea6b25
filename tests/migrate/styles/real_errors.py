import sys
import numpy as np
from tensorrtserver.api import *

url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
try:
    InferContext(url, protocol, "no_such_model").run({}, {}, 1)
except InferenceServerException as ex:
    print("failed as expected", "no_such_model" in ex.message())
ctx = InferContext(url, protocol, "simple")
try:
    ctx.run({"INPUT0": [np.zeros(16, np.int32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
except InferenceServerException as ex:
    print("missing input", type(ex).__name__)
ctx = InferContext(url, protocol, "simple_nobatch")
for rows in ([np.zeros(16, np.int32)] * 2, [np.zeros(17, np.int32)]):
    try:
        ctx.run({"INPUT0": rows, "INPUT1": rows}, {"OUTPUT0": InferContext.ResultFormat.RAW}, len(rows))
    except InferenceServerException:
        print("refused")
try:
    ctx.get_async_run_results(99999, True)
except InferenceServerException:
    print("no such request")

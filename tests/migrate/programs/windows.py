import sys
import numpy as np
from tensorrtserver.api import *

# saved on a PC
ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "simple_nobatch", -1, False)
a = np.arange(16, dtype=np.int32)
r = ctx.run({"INPUT0": [a], "INPUT1": [a]},
            {"OUTPUT0": InferContext.ResultFormat.RAW})
print(r["OUTPUT0"][0].tolist())

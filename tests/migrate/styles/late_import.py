import sys
from tensorrtserver.api import *

ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "simple")
row = np.arange(16, dtype=np.int32)
result = ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
import json
print(json.dumps(result["OUTPUT0"][0].tolist()))

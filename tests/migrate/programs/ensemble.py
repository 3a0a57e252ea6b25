import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType, InferenceServerException

def usage():
    sys.stderr.write("usage: ensemble.py URL [http|grpc]\n")
    sys.exit(64)

def infer(ctx, left, right):
    try:
        return ctx.run({"INPUT0": [left], "INPUT1": [right]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)["OUTPUT0"][0]
    except InferenceServerException as ex:
        print("server says no")
        return None

if len(sys.argv) < 2: usage()
with InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2] if len(sys.argv) > 2 else "http"), "ensemble_simple") as ctx:
    print(infer(ctx, np.arange(16, dtype=np.int32), np.full(16, 7, dtype=np.int32)))
    print(infer(ctx, np.arange(15, dtype=np.int32), np.full(16, 7, dtype=np.int32)))

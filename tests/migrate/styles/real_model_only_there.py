import sys
import numpy as np
from tensorrtserver.api import *


def contexts(url, protocol, names):
    return {name: InferContext(url, protocol, name, -1, False) for name in names}


def ask(ctx, array):
    return ctx.run({"INPUT0": [array]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)["OUTPUT0"][0]


made = contexts(sys.argv[1], ProtocolType.from_str(sys.argv[2]), ["identity_fp32", "identity_int32"])
print(ask(made["identity_fp32"], np.array([1.5], np.float32)), ask(made["identity_int32"], np.array([7], np.int32)))
for name, ctx in sorted(made.items()):
    print(name, ctx.run({"INPUT0": [np.zeros(2, "i4" if "int" in name else "f4")]}, {"OUTPUT0": InferContext.ResultFormat.RAW})["OUTPUT0"][0].dtype)

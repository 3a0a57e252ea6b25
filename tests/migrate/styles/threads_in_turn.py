from tensorrtserver.api import *
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np


def ask(ctx, n):
    inputs = {"INPUT0": [np.arange(n, dtype=np.int64)]}
    result = ctx.run(inputs, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
    return int(result["OUTPUT0"][0].sum())


ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "identity_int64")
with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
    print([pool.submit(ask, ctx, n).result() for n in range(1, 4) for pool in (one, other)])
print(ask(ctx, 4))

from multiprocessing import get_context
import sys
import numpy as np
from tensorrtserver.api import *

ctx = None

def init(url, protocol):
    global ctx
    ctx = InferContext(url, protocol, "identity_int32")

def work(n):
    x = np.arange(n, dtype=np.int32)
    return int(ctx.run({"INPUT0": [x]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)["OUTPUT0"][0].sum())

if __name__ == "__main__":
    url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
    pool = get_context("spawn").Pool(2, init, (url, protocol))
    print(pool.map(work, [1, 10, 100, 1000]))
    pool.close()
    pool.join()

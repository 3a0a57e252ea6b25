import sys, queue
from concurrent.futures import ThreadPoolExecutor, as_completed
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType

class ContextPool(object):
    def __init__(self, size, *args, **kwargs):
        self._q = queue.Queue()
        for _ in range(size):
            self._q.put(InferContext(*args, **kwargs))

    def run(self, inputs, outputs, batch_size=1):
        ctx = self._q.get()
        try:
            return ctx.run(inputs, outputs, batch_size)
        finally:
            self._q.put(ctx)

    def close(self):
        while not self._q.empty():
            self._q.get_nowait().close()

pool = ContextPool(2, sys.argv[1], ProtocolType.from_str(sys.argv[2]), "simple", verbose=False)
def job(n):
    r = pool.run({"INPUT0": [np.full(16, n, np.int32)], "INPUT1": [np.full(16, 1, np.int32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
    return n, int(r["OUTPUT0"][0][0])
with ThreadPoolExecutor(4) as ex:
    print(sorted(f.result() for f in as_completed([ex.submit(job, n) for n in range(6)])))
pool.close()

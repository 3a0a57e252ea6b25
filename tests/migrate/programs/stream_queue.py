import sys, queue
from functools import partial
import numpy as np
from tensorrtserver.api import *
url, proto = sys.argv[2], ProtocolType.from_str(sys.argv[4])
q = queue.Queue()
def cb(q, ctx, rid):
    q.put((ctx, rid))
with InferContext(url, proto, "sequence_sum", -1, False, 91, True) as ctx:
    vals = [3, 4, 5]
    for k, v in enumerate(vals):
        fl = InferRequestHeader.FLAG_NONE
        if k == 0: fl = fl | InferRequestHeader.FLAG_SEQUENCE_START
        if k == len(vals) - 1: fl = fl | InferRequestHeader.FLAG_SEQUENCE_END
        ctx.async_run(partial(cb, q), {"INPUT": [np.array([v], dtype=np.int32)]}, {"OUTPUT": InferContext.ResultFormat.RAW}, 1, fl)
    for _ in vals:
        c, rid = q.get()
        print(c.get_async_run_results(rid)["OUTPUT"][0])

# old style async, v1.5
import sys
import numpy as np
from tensorrtserver.api import *
protocol = ProtocolType.from_str(sys.argv[4])
ctx = InferContext(sys.argv[2], protocol, "simple", -1, False)
in0 = np.arange(16, dtype=np.int32); in1 = np.ones(16, dtype=np.int32)
ids = []
for i in range(3):
    ids.append(ctx.async_run({'INPUT0': (in0 * i,), 'INPUT1': (in1,)},
                             {'OUTPUT0': InferContext.ResultFormat.RAW, 'OUTPUT1': InferContext.ResultFormat.RAW}, 1))
for n, id in enumerate(ids):
    result = ctx.get_async_run_results(id, True)
    print(n, result['OUTPUT0'][0].sum(), result['OUTPUT1'][0].max())
id = ctx.async_run({'INPUT0': (in0,), 'INPUT1': (in1,)}, {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)
ready = ctx.get_ready_async_request(True)
print(ready == id, ctx.get_async_run_results(ready, True)['OUTPUT0'][0][:3])

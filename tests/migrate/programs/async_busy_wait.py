import sys, time
import numpy as np
import tensorrtserver.api as trtis
from tensorrtserver.api import InferContext

# python async_busy_wait.py host:port http|grpc
url, proto = sys.argv[1], trtis.ProtocolType.from_str(sys.argv[2])

count = 0
total = 0.0

def callback(ctx, id):
    global count, total
    res = ctx.get_async_run_results(id)
    total += float(np.sum(res['OUTPUT0'][0]))
    count += 1

context = InferContext(url, proto, "identity_fp32", -1, False)
for i in range(20):
    x = np.full((5,), i, dtype=np.float32)
    context.async_run(callback, {"INPUT0": [x]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, batch_size=1)

# wait for all of them
while count < 20:
    time.sleep(0.005)
print("received", count, "sum", total)

# One global, one callback, the main thread waits for both.
import sys
import time
from functools import partial
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType

pending = 0
answers = {}


def on_done(key, ctx, request_id):
    global pending
    result = ctx.get_async_run_results(request_id)
    answers[key] = result["OUTPUT0"][0].flat[0]
    pending -= 1


url, proto = sys.argv[1], sys.argv[2]
ctx = InferContext(url, ProtocolType.from_str(proto), "identity_fp32", correlation_id=0, verbose=False, streaming=False)
for key in ("a", "b", "c"):
    pending += 1
    values = np.array([ord(key)], dtype=np.float32)
    ctx.async_run(partial(on_done, key), {"INPUT0": [values]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
while pending > 0:
    time.sleep(0.01)
print(sorted(answers.items()))

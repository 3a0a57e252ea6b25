import sys
import threading
from functools import partial
import numpy as np
from tensorrtserver.api import *

URL, PROTOCOL = sys.argv[1], ProtocolType.from_str(sys.argv[2])
SEQUENCE = 7351
done = threading.Semaphore(0)
finished = []

def on_done(number, infer_ctx, request_id):
    finished.append((number, request_id))
    done.release()

ctx = InferContext(URL, PROTOCOL, 'sequence_sum', -1, correlation_id=SEQUENCE)
values = [5, 4, 3, 2, 1, 7]
for n, value in enumerate(values):
    flags = InferRequestHeader.FLAG_NONE
    if n == 0:
        flags |= InferRequestHeader.FLAG_SEQUENCE_START
    if n == len(values) - 1:
        flags |= InferRequestHeader.FLAG_SEQUENCE_END
    ctx.async_run(partial(on_done, n), {'INPUT': [np.array([value], dtype=np.int32)]},
                  {'OUTPUT': InferContext.ResultFormat.RAW}, batch_size=1, flags=flags)
for _ in values:
    done.acquire()
print(sum(values))
for n, request_id in sorted(finished):
    print(n, ctx.get_async_run_results(request_id)['OUTPUT'][0][0])

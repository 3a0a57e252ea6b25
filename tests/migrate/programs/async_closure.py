"""Feeds numbers to the double-precision echo model and collects them in order."""
from __future__ import print_function
import os
import threading
import numpy as np
from tensorrtserver.api import *

URL = os.environ.get('TRTIS_URL', 'localhost:8001')
PROTO = ProtocolType.from_str(os.environ.get('TRTIS_PROTOCOL', 'grpc'))

N = 12
results = [None] * N
lock = threading.Lock()
remaining = N
finished = threading.Event()


def make_callback(index):
    def on_done(ctx, req_id):
        global remaining
        r = ctx.get_async_run_results(req_id)
        with lock:
            results[index] = r['OUTPUT0'][0]
            remaining -= 1
            if remaining == 0:
                finished.set()
    return on_done


ctx = InferContext(URL, PROTO, 'identity_fp64')
for k in range(N):
    data = np.linspace(0, k, num=4, dtype=np.float64)
    ctx.async_run(make_callback(k), {'INPUT0': [data]}, {'OUTPUT0': InferContext.ResultFormat.RAW})

finished.wait(30)
for k, r in enumerate(results):
    print(k, ' '.join('%.3f' % x for x in r))

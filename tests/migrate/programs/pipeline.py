#!/usr/bin/env python
import argparse
import collections
import numpy as np
from tensorrtserver.api import *

# double buffering: always keep `depth` requests under way (old style, ids)
parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url', default='localhost:8000')
parser.add_argument('-i', '--protocol', default='http')
parser.add_argument('--depth', type=int, default=3)
args = parser.parse_args()

ctx = InferContext(args.url, ProtocolType.from_str(args.protocol), 'identity_fp32', -1)
pending = collections.deque()
sums = []

def collect():
    rid = pending.popleft()
    res = ctx.get_async_run_results(rid, True)
    sums.append(float(res['OUTPUT0'][0].sum()))

for step in range(10):
    if len(pending) == args.depth:
        collect()
    frame = np.full((4,), step, dtype=np.float32)
    pending.append(ctx.async_run({'INPUT0': [frame]}, {'OUTPUT0': InferContext.ResultFormat.RAW}, batch_size=1))
while pending:
    collect()
print(sums)

#!/usr/bin/env python3
import argparse
import time
import numpy as np
from tensorrtserver.api import *

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument('-u', '--url', type=str, default='localhost:8001', help='server')
parser.add_argument('-i', '--protocol', type=str, default='grpc', help='grpc or http')
parser.add_argument('-n', '--iterations', type=int, default=25)
parser.add_argument('-b', '--batch', type=int, default=4)
opt = parser.parse_args()

ctx = InferContext(opt.url, ProtocolType.from_str(opt.protocol), 'identity_fp32', -1, verbose=0)
data = [np.random.rand(1000).astype(np.float32) for _ in range(opt.batch)]
outputs = {'OUTPUT0': InferContext.ResultFormat.RAW}

# warm up
for _ in range(3):
    ctx.run({'INPUT0': data}, outputs, opt.batch)

latencies = []
start = time.time()
for i in range(opt.iterations):
    t0 = time.time()
    res = ctx.run({'INPUT0': data}, outputs, opt.batch)
    latencies.append(time.time() - t0)
elapsed = time.time() - start

assert len(res['OUTPUT0']) == opt.batch
assert all((a == b).all() for a, b in zip(res['OUTPUT0'], data))
assert elapsed > 0 and min(latencies) > 0
p99 = sorted(latencies)[int(len(latencies) * 0.99)]
print('%d requests of %d rows, slowest is p99: %s' % (len(latencies), opt.batch, p99 == max(latencies)))

#!/usr/bin/env python
# Works with tensorrtserver 1.3 .. 1.7
import argparse
import numpy as np
from builtins import range
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument('-v', '--verbose', action="store_true", default=False)
parser.add_argument('-u', '--url', type=str, default='localhost:8000')
parser.add_argument('-i', '--protocol', type=str, default='http')
FLAGS = parser.parse_args()
protocol = ProtocolType.from_str(FLAGS.protocol)

ctx = InferContext(FLAGS.url, protocol, "simple", -1, FLAGS.verbose)

input1_data = np.ones(shape=16, dtype=np.int32)
request_ids = []
for i in range(4):
    input0_data = np.arange(start=i, stop=16 + i, dtype=np.int32)
    request_ids.append(ctx.async_run({ 'INPUT0' : (input0_data,),
                                       'INPUT1' : (input1_data,) },
                                     { 'OUTPUT0' : InferContext.ResultFormat.RAW,
                                       'OUTPUT1' : InferContext.ResultFormat.RAW },
                                     1))

# Retrieve results in the order in which they were sent
for i, request_id in enumerate(request_ids):
    result = ctx.get_async_run_results(request_id, True)
    print("request {}: {} {}".format(i, result['OUTPUT0'][0][15], result['OUTPUT1'][0][0]))

# and once more with whatever is ready first
request_ids = {}
for i in range(3):
    request_ids[ctx.async_run({ 'INPUT0' : (input1_data,), 'INPUT1' : (input1_data * i,) },
                              { 'OUTPUT0' : InferContext.ResultFormat.RAW }, 1)] = i
answers = {}
while len(answers) < 3:
    ready = ctx.get_ready_async_request(True)
    answers[request_ids[ready]] = ctx.get_async_run_results(ready, False)['OUTPUT0'][0][0]
print(sorted(answers.items()) == [(0, 1), (1, 2), (2, 3)])

import argparse
import numpy as np
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url', default='localhost:8001')
parser.add_argument('-i', '--protocol', default='grpc')
FLAGS = parser.parse_args()

ctx = InferContext(FLAGS.url, ProtocolType.from_str(FLAGS.protocol), "simple", -1, verbose=0)
input0 = np.arange(16, dtype=np.int32)
request_ids = []
for n in range(3):
    input1 = np.full((16,), n, dtype=np.int32)
    request_ids.append(ctx.async_run({'INPUT0': (input0,), 'INPUT1': (input1,)},
                                     {'OUTPUT0': InferContext.ResultFormat.RAW,
                                      'OUTPUT1': InferContext.ResultFormat.RAW}, 1))
for n, request_id in enumerate(request_ids):
    result = ctx.get_async_run_results(request_id, True)
    print(n, result['OUTPUT0'][0].tolist(), result['OUTPUT1'][0].sum())

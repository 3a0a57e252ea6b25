# priority and timeout came with 1.12
import argparse
import numpy as np
from tensorrtserver.api import *

a = argparse.ArgumentParser()
a.add_argument('-u'); a.add_argument('-i')
args = a.parse_args()
ctx = InferContext(args.u, ProtocolType.from_str(args.i), 'identity_int32', -1, verbose=False)
x = np.array([3, 1, 4, 1, 5], dtype=np.int32)
r = ctx.run({'INPUT0': [x]}, {'OUTPUT0': InferContext.ResultFormat.RAW}, batch_size=1, priority=1, timeout_us=5000000)
print(r['OUTPUT0'][0])
print(ctx.get_last_request_model_name(), ctx.get_last_request_model_version())
stat = ctx.get_stat()
print(stat['completed_request_count'], 'done')

#!/usr/bin/env python
import argparse
import sys
import numpy as np
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url', type=str, default='localhost:8000')
parser.add_argument('-i', '--protocol', type=str, default='http')
FLAGS = parser.parse_args()
protocol = ProtocolType.from_str(FLAGS.protocol)

failures = 0
ctx = InferContext(FLAGS.url, protocol, "failing", -1)
for value in (0, 3, 0, 12):
    try:
        out = ctx.run({'INPUT0': [np.array([value], dtype=np.float32)]},
                      {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)
        print("ok", out['OUTPUT0'][0][0])
    except InferenceServerException as ex:
        failures += 1
        text = ex.message()
        print("refused" if "refused value %d" % value in text else "something else: " + text)
        print(ex.request_id() > 0, ctx.get_last_request_id())
        assert ex.server_id() in (None, 'triton', 'inference:0'), ex.server_id()

print("%d failures" % failures)
sys.exit(0 if failures == 2 else 1)

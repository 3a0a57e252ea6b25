import argparse
import numpy as np
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url')
parser.add_argument('-i', '--protocol')
FLAGS = parser.parse_args()
protocol = ProtocolType.from_str(FLAGS.protocol)

row = np.arange(16, dtype=np.int32)
inputs = {"INPUT0": [row, row], "INPUT1": [row, row]}
outputs = {"OUTPUT0": InferContext.ResultFormat.RAW, "OUTPUT1": InferContext.ResultFormat.RAW}
sum_ctx = InferContext(FLAGS.url, protocol, "simple")
other_ctx = InferContext(FLAGS.url, protocol, "ensemble_simple")
timed_ctx = InferContext(FLAGS.url, protocol, "simple")

first = sum_ctx.run(inputs, outputs, 2)
second = other_ctx.run(inputs, {"OUTPUT0": InferContext.ResultFormat.RAW}, 2)
third = timed_ctx.run(inputs, outputs, batch_size=2)
stat = timed_ctx.get_stat()
print(stat["completed_request_count"], stat["cumulative_send_time_ns"] >= 0)
for name in sorted(first):
    print(name, [int(row.sum()) for row in first[name]], len(first[name]))
print(np.array(second["OUTPUT0"]).shape, (third["OUTPUT0"][1] == first["OUTPUT0"][1]).all())

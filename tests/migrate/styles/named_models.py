import argparse
import sys
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("protocol")
parser.add_argument("-m", "--model", default="simple")
options = parser.parse_args()
ctx = InferContext(options.url, ProtocolType.from_str(options.protocol), options.model)
row = np.arange(16, dtype=np.int32)
sums = ctx.run({"INPUT0": [row], "INPUT1": (row,)}, {
    "OUTPUT0": InferContext.ResultFormat.RAW}, 1)
print(sums["OUTPUT0"][0])

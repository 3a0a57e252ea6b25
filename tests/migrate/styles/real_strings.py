import sys
import numpy as np
from tensorrtserver.api import *

url = sys.argv[1]
protocol = ProtocolType.from_str(sys.argv[2])
ctx = InferContext(url, protocol, "simple_string")
in0 = np.arange(start=0, stop=16, dtype=np.int32)
in0n = np.array([str(x) for x in in0.reshape(in0.size)], dtype=object)
input0_data = in0n.reshape(in0.shape)
in1n = np.array(["1" for x in range(16)], dtype=np.object_)
result = ctx.run({'INPUT0': (input0_data,), 'INPUT1': (in1n,)},
                 {'OUTPUT0': InferContext.ResultFormat.RAW, 'OUTPUT1': InferContext.ResultFormat.RAW}, 1)
for i in range(4):
    r0 = result['OUTPUT0'][0][i].decode('utf-8')
    r1 = result['OUTPUT1'][0][i].decode('utf-8')
    print(input0_data[i], r0, r1, int(r0) - int(r1))

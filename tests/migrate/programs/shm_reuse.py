#!/usr/bin/env python
# one region for input and one for output, used again for every frame
import argparse, os
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url'); parser.add_argument('-i', '--protocol')
args = parser.parse_args()
protocol = ProtocolType.from_str(args.protocol)

BATCH, SIZE = 2, 8
nbytes = BATCH * SIZE * np.dtype(np.float32).itemsize
tag = str(os.getpid())
ctx = InferContext(args.url, protocol, "identity_fp32")
shm_ctx = SharedMemoryControlContext(args.url, protocol)
try:
    in_handle = shm.create_shared_memory_region("in_" + tag, "/in_" + tag, nbytes)
    out_handle = shm.create_shared_memory_region("out_" + tag, "/out_" + tag, nbytes)
    shm_ctx.register(in_handle)
    shm_ctx.register(out_handle)
    for frame in range(3):
        data = [np.full(SIZE, frame + b / 10., dtype=np.float32) for b in range(BATCH)]
        shm.set_shared_memory_region(in_handle, data)
        results = ctx.run({"INPUT0": (in_handle, [SIZE])},
                          {"OUTPUT0": (InferContext.ResultFormat.RAW, out_handle)}, BATCH)
        print(frame, [round(float(r.mean()), 3) for r in results["OUTPUT0"]])
except shm.SharedMemoryException as e:
    print("shared memory: " + str(e))
finally:
    shm_ctx.unregister(in_handle)
    shm_ctx.unregister(out_handle)
    shm.destroy_shared_memory_region(in_handle)
    shm.destroy_shared_memory_region(out_handle)

import argparse
import sys
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm
from ctypes import *

FLAGS = None

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False)
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    model_name = "simple"
    batch_size = 2
    infer_ctx = InferContext(FLAGS.url, protocol, model_name, -1, FLAGS.verbose)
    control = SharedMemoryControlContext(FLAGS.url, protocol, verbose=FLAGS.verbose)
    first = [np.arange(16, dtype=np.int32) + n for n in range(batch_size)]
    second = [np.full(16, 2, dtype=np.int32) for n in range(batch_size)]
    size = sum(a.nbytes for a in first)
    input_handle = shm.create_shared_memory_region("fresh_in", "/fresh_in", size)
    output_handle = shm.create_shared_memory_region("fresh_out", "/fresh_out", size)
    shm.set_shared_memory_region(input_handle, first)
    control.register(input_handle)
    control.register(output_handle)
    try:
        results = infer_ctx.run({'INPUT0': input_handle, 'INPUT1': second},
                                {'OUTPUT0': (InferContext.ResultFormat.RAW, output_handle),
                                 'OUTPUT1': InferContext.ResultFormat.RAW}, batch_size)
        for b in range(batch_size):
            print(results['OUTPUT0'][b].tolist(), results['OUTPUT1'][b].sum())
    finally:
        control.unregister(input_handle)
        control.unregister(output_handle)
        shm.destroy_shared_memory_region(input_handle)
        shm.destroy_shared_memory_region(output_handle)

import argparse
import sys
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.cuda_shared_memory as cudashm

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url')
    parser.add_argument('-i', '--protocol')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    print(ServerHealthContext(FLAGS.url, protocol).is_live())
    try:
        shm_ip0_handle = cudashm.create_shared_memory_region("input0_data", 64, 0)
    except Exception:
        print("no CUDA here")
        sys.exit(0)
    infer_ctx = InferContext(FLAGS.url, protocol, "simple", -1, False)
    control = SharedMemoryControlContext(FLAGS.url, protocol, http_headers=None, verbose=False)
    input0_data = np.arange(start=0, stop=16, dtype=np.int32)
    cudashm.set_shared_memory_region(shm_ip0_handle, [input0_data])
    control.cuda_register(shm_ip0_handle)
    results = infer_ctx.run({'INPUT0': shm_ip0_handle, 'INPUT1': (input0_data,)},
                            {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)
    print(results['OUTPUT0'][0])
    control.unregister(shm_ip0_handle)
    cudashm.destroy_shared_memory_region(shm_ip0_handle)

#!/usr/bin/env python
# Both inputs and both outputs in system shared memory, in the way of 2020.

import argparse
from builtins import range
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm

FLAGS = None

def make_region(name, arrays=None):
    # Two batch entries of 16 32-bit integers each.
    handle = shm.create_shared_memory_region(name, '/demo_%s_%d' % (name, os.getpid()), 2 * 64)
    if arrays is not None:
        shm.set_shared_memory_region(handle, arrays)
    return handle

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000',
                        help='Inference server URL. Default is localhost:8000.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http',
                        help='Protocol ("http"/"grpc"). Default is "http".')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)

    first = [np.arange(16, dtype=np.int32), np.arange(16, 32, dtype=np.int32)]
    second = [np.ones(16, dtype=np.int32), np.full(16, 100, dtype=np.int32)]

    control = SharedMemoryControlContext(FLAGS.url, protocol, FLAGS.verbose)
    control.unregister_all()

    handles = [make_region('input0', first), make_region('input1', second),
               make_region('output0'), make_region('output1')]
    for handle in handles:
        control.register(handle)
    regions = control.get_shared_memory_status().shared_memory_region
    print("registered: %s" % ', '.join(sorted(region.name for region in regions)))

    infer_ctx = InferContext(FLAGS.url, protocol, "simple", verbose=FLAGS.verbose)
    result = infer_ctx.run({ 'INPUT0' : handles[0], 'INPUT1' : (handles[1], [16]) },
                           { 'OUTPUT0' : (InferContext.ResultFormat.RAW, handles[2]),
                             'OUTPUT1' : (InferContext.ResultFormat.RAW, handles[3]) },
                           batch_size=2)

    for entry in range(2):
        for i in range(16):
            if result['OUTPUT0'][entry][i] != first[entry][i] + second[entry][i]:
                print("error: incorrect sum")
                sys.exit(1)
            if result['OUTPUT1'][entry][i] != first[entry][i] - second[entry][i]:
                print("error: incorrect difference")
                sys.exit(1)
    print("15 + 1 = %d, 31 - 100 = %d" % (result['OUTPUT0'][0][15], result['OUTPUT1'][1][15]))

    for handle in handles:
        control.unregister(handle)
        shm.destroy_shared_memory_region(handle)
    left = control.get_shared_memory_status().shared_memory_region
    print("left registered: %d" % len(left))
    if len(left) != 0:
        sys.exit(1)

    print("PASS")

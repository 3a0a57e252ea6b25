import argparse
import os
from builtins import range
from ctypes import *
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm
import tensorrtserver.cuda_shared_memory as cudashm

FLAGS = None

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http')
    parser.add_argument('--cuda', action="store_true", help='Use CUDA shared memory')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)

    model_name = "simple"
    model_version = -1
    batch_size = 1
    infer_ctx = InferContext(FLAGS.url, protocol, model_name, model_version, FLAGS.verbose)
    shared_memory_ctx = SharedMemoryControlContext(FLAGS.url, protocol, FLAGS.verbose)
    shared_memory_ctx.unregister_all()

    input0_data = np.arange(start=0, stop=16, dtype=np.int32)
    input1_data = np.ones(shape=16, dtype=np.int32)
    input_byte_size = input0_data.size * input0_data.itemsize
    suffix = "_%s_%d" % (FLAGS.protocol, os.getpid())

    ip_handles, op_handles = [], []
    for name, data in (("input0_data", input0_data), ("input1_data", input1_data),
                       ("output0_data", None), ("output1_data", None)):
        if FLAGS.cuda:
            handle = cudashm.create_shared_memory_region(name, input_byte_size, 0)
            if data is not None:
                cudashm.set_shared_memory_region(handle, [data])
            shared_memory_ctx.cuda_register(handle)
        else:
            handle = shm.create_shared_memory_region(name, "/" + name + suffix, input_byte_size)
            if data is not None:
                shm.set_shared_memory_region(handle, [data])
            shared_memory_ctx.register(handle)
        (op_handles if data is None else ip_handles).append(handle)

    shm_status = shared_memory_ctx.get_shared_memory_status()
    for region in sorted(shm_status.shared_memory_region, key=lambda r: r.name):
        print(region.name, region.byte_size, region.WhichOneof("shared_memory_types"),
              region.HasField("system_shared_memory"),
              region.system_shared_memory.offset)

    results = infer_ctx.run({'INPUT0': ip_handles[0], 'INPUT1': ip_handles[1], },
                            {'OUTPUT0': (InferContext.ResultFormat.RAW, op_handles[0]),
                             'OUTPUT1': (InferContext.ResultFormat.RAW, op_handles[1])},
                            batch_size)
    output0_data = results['OUTPUT0'][0]
    output1_data = results['OUTPUT1'][0]
    for i in range(16):
        print(str(input0_data[i]) + " + " + str(input1_data[i]) + " = " + str(output0_data[i]))
        if (input0_data[i] - input1_data[i]) != output1_data[i]:
            print("error: incorrect difference")
            sys.exit(1)

    # new values in the same region, one output not in shared memory
    if FLAGS.cuda:
        cudashm.set_shared_memory_region(ip_handles[0], [input0_data * 10])
    else:
        shm.set_shared_memory_region(ip_handles[0], [input0_data * 10])
    results = infer_ctx.run({'INPUT0': (ip_handles[0], [16]), 'INPUT1': [input1_data]},
                            {'OUTPUT1': (InferContext.ResultFormat.RAW, op_handles[1]),
                             'OUTPUT0': InferContext.ResultFormat.RAW}, batch_size)
    print(list(results.keys()), results['OUTPUT0'][0].tolist(), results['OUTPUT1'][0].sum())

    try:
        shared_memory_ctx.register(ip_handles[0])
        print("error: registered twice")
    except InferenceServerException as ex:
        print("error as expected:", "already in manager" in ex.message())
    for handle in ip_handles + op_handles:
        shared_memory_ctx.unregister(handle)
        if FLAGS.cuda:
            cudashm.destroy_shared_memory_region(handle)
        else:
            shm.destroy_shared_memory_region(handle)
    print(len(shared_memory_ctx.get_shared_memory_status().shared_memory_region), "regions left")

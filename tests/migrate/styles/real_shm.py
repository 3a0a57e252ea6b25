import argparse
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url')
    parser.add_argument('-i', '--protocol')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    infer_ctx = InferContext(FLAGS.url, protocol, "simple", -1, False)
    shared_memory_ctx = SharedMemoryControlContext(FLAGS.url, protocol, http_headers=None, verbose=False)

    input0_data = np.arange(start=0, stop=16, dtype=np.int32)
    input1_data = np.ones(shape=16, dtype=np.int32)
    input_byte_size = input0_data.size * input0_data.itemsize
    output_byte_size = input_byte_size

    shm_op_handle = shm.create_shared_memory_region("real_output_data", "/real_output_simple", output_byte_size * 2)
    shared_memory_ctx.unregister(shm_op_handle)
    shared_memory_ctx.register(shm_op_handle)

    shm_ip0_handle = shm.create_shared_memory_region("real_input0_data", "/real_input0_simple", input_byte_size)
    shm_ip1_handle = shm.create_shared_memory_region("real_input1_data", "/real_input1_simple", input_byte_size)
    shm.set_shared_memory_region(shm_ip0_handle, [input0_data])
    shm.set_shared_memory_region(shm_ip1_handle, [input1_data])
    shared_memory_ctx.register(shm_ip0_handle)
    shared_memory_ctx.register(shm_ip1_handle)

    results = infer_ctx.run({'INPUT0': (shm_ip0_handle), 'INPUT1': (shm_ip1_handle)},
                            {'OUTPUT0': (InferContext.ResultFormat.RAW, shm_op_handle),
                             'OUTPUT1': InferContext.ResultFormat.RAW}, 1)
    for i in range(16):
        print(str(input0_data[i]) + " + " + str(input1_data[i]) + " = " + str(results['OUTPUT0'][0][i]))

    names = [region.name for region in shared_memory_ctx.get_shared_memory_status().shared_memory_region]
    print([name for name in sorted(names) if name.startswith("real_")])
    shared_memory_ctx.unregister(shm_op_handle)
    shared_memory_ctx.unregister(shm_ip0_handle)
    shared_memory_ctx.unregister(shm_ip1_handle)
    shm.destroy_shared_memory_region(shm_op_handle)
    shm.destroy_shared_memory_region(shm_ip0_handle)
    shm.destroy_shared_memory_region(shm_ip1_handle)

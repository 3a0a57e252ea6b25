#!/usr/bin/env python

import argparse
import numpy as np
import os
from builtins import range
from ctypes import *
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm

FLAGS = None

if __name__ == '__main__':
   parser = argparse.ArgumentParser()
   parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                       help='Enable verbose output')
   parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000',
                       help='Inference server URL. Default is localhost:8000.')
   parser.add_argument('-i', '--protocol', type=str, required=False, default='http',
                       help='Protocol ("http"/"grpc") used to ' +
                       'communicate with inference service. Default is "http".')

   FLAGS = parser.parse_args()
   protocol = ProtocolType.from_str(FLAGS.protocol)

   # We use a simple model that takes 2 input tensors of 16 integers
   # each and returns 2 output tensors of 16 integers each.
   model_name = "simple"
   model_version = -1
   batch_size = 1

   # Create the inference context for the model.
   infer_ctx = InferContext(FLAGS.url, protocol, model_name, model_version, FLAGS.verbose)

   # Create the shared memory control context
   shared_memory_ctx = SharedMemoryControlContext(FLAGS.url, protocol, FLAGS.verbose)

   # To make sure no shared memory regions are registered with the
   # server.
   shared_memory_ctx.unregister_all()

   # Create the data for the two input tensors.
   input0_data = np.arange(start=0, stop=16, dtype=np.int32)
   input1_data = np.ones(shape=16, dtype=np.int32)

   input_byte_size = input0_data.size * input0_data.itemsize
   output_byte_size = input_byte_size

   # Create Output0 and Output1 in Shared Memory and store shared memory handles
   shm_op0_handle = shm.create_shared_memory_region("output0_data", "/output0_simple", output_byte_size)
   shm_op1_handle = shm.create_shared_memory_region("output1_data", "/output1_simple", output_byte_size)

   # Register Output0 and Output1 shared memory with the server
   shared_memory_ctx.register(shm_op0_handle)
   shared_memory_ctx.register(shm_op1_handle)

   # Create Input0 and Input1 in Shared Memory and store shared memory handles
   shm_ip0_handle = shm.create_shared_memory_region("input0_data", "/input0_simple", input_byte_size)
   shm_ip1_handle = shm.create_shared_memory_region("input1_data", "/input1_simple", input_byte_size)

   # Put input data values into shared memory
   shm.set_shared_memory_region(shm_ip0_handle, [input0_data])
   shm.set_shared_memory_region(shm_ip1_handle, [input1_data])

   # Register Input0 and Input1 shared memory with the server
   shared_memory_ctx.register(shm_ip0_handle)
   shared_memory_ctx.register(shm_ip1_handle)

   # Send inference request to the inference server. Get results for both output tensors.
   results = infer_ctx.run({ 'INPUT0' : shm_ip0_handle,
                             'INPUT1' : shm_ip1_handle },
                           { 'OUTPUT0' : (InferContext.ResultFormat.RAW, shm_op0_handle),
                             'OUTPUT1' : (InferContext.ResultFormat.RAW, shm_op1_handle) },
                           batch_size)

   # Read output from shared memory
   output0_data = results['OUTPUT0'][0]
   output1_data = results['OUTPUT1'][0]

   # We expect there to be 2 results (each with batch-size 1). Walk
   # over all 16 result elements and print the sum and difference
   for i in range(16):
      print(str(input0_data[i]) + " + " + str(input1_data[i]) + " = " + str(output0_data[i]))
      print(str(input0_data[i]) + " - " + str(input1_data[i]) + " = " + str(output1_data[i]))
      if (input0_data[i] + input1_data[i]) != output0_data[i]:
         print("shm infer error: incorrect sum")
         sys.exit(1)
      if (input0_data[i] - input1_data[i]) != output1_data[i]:
         print("shm infer error: incorrect difference")
         sys.exit(1)

   print(len(shared_memory_ctx.get_shared_memory_status().shared_memory_region), "regions registered")
   shared_memory_ctx.unregister_all()
   shm.destroy_shared_memory_region(shm_ip0_handle)
   shm.destroy_shared_memory_region(shm_ip1_handle)
   shm.destroy_shared_memory_region(shm_op0_handle)
   shm.destroy_shared_memory_region(shm_op1_handle)

#!/usr/bin/env python
import argparse
import numpy as np
import sys
from builtins import range
from tensorrtserver.api import *

FLAGS = None

if __name__ == '__main__':
   parser = argparse.ArgumentParser()
   parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False)
   parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000')
   parser.add_argument('-i', '--protocol', type=str, required=False, default='http')
   FLAGS = parser.parse_args()
   protocol = ProtocolType.from_str(FLAGS.protocol)

   model_name = "simple_string"
   model_version = -1
   batch_size = 1

   infer_ctx = InferContext(FLAGS.url, protocol, model_name, model_version, FLAGS.verbose)

   # Create the data for the two input tensors. Initialize the first
   # to unique integers and the second to all ones. The input tensors
   # are the string representation of these values.
   in0 = np.arange(start=0, stop=16, dtype=np.int32)
   in1 = np.ones(shape=16, dtype=np.int32)
   expected_sum = np.array([str(x) for x in np.add(in0, in1, dtype=np.int32)], dtype=object)
   expected_diff = np.array([str(x) for x in np.subtract(in0, in1, dtype=np.int32)], dtype=object)

   in0n = np.array([str(x) for x in in0.reshape(in0.size)], dtype=object)
   input0_data = in0n.reshape(in0.shape)
   in1n = np.array([str(x) for x in in1.reshape(in1.size)], dtype=object)
   input1_data = in1n.reshape(in1.shape)

   result = infer_ctx.run({ 'INPUT0' : (input0_data,),
                            'INPUT1' : (input1_data,) },
                          { 'OUTPUT0' : InferContext.ResultFormat.RAW,
                            'OUTPUT1' : InferContext.ResultFormat.RAW },
                          batch_size)

   output0_data = result['OUTPUT0'][0]
   output1_data = result['OUTPUT1'][0]

   for i in range(16):
       print(str(input0_data[i]) + " + " + str(input1_data[i]) + " = " + str(output0_data[i]))

       # convert result from string to int to check result
       r0 = output0_data[i].decode('utf-8')
       r1 = output1_data[i].decode('utf-8')
       if expected_sum[i] != r0:
           print("error: incorrect sum")
           sys.exit(1)
       if expected_diff[i] != r1:
           print("error: incorrect difference")
           sys.exit(1)

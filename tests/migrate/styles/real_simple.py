#!/usr/bin/env python
# Sends two tensors to the "simple" model and checks the sum and the difference.
import argparse
import numpy as np
from tensorrtserver.api import *

FLAGS = None

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000',
                        help='Inference server URL. Default is localhost:8000.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http',
                        help='Protocol ("http"/"grpc") used to communicate with inference service.')
    parser.add_argument('-H', dest='http_headers', metavar="HTTP_HEADER", required=False, action='append',
                        help='HTTP headers to add to inference server requests.')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)

    model_name = "simple"
    model_version = -1
    batch_size = 1

    infer_ctx = InferContext(FLAGS.url, protocol, model_name, model_version,
                             http_headers=FLAGS.http_headers, verbose=FLAGS.verbose)

    input0_data = np.arange(start=0, stop=16, dtype=np.int32)
    input1_data = np.ones(shape=16, dtype=np.int32)

    result = infer_ctx.run({'INPUT0': (input0_data,), 'INPUT1': (input1_data,)},
                           {'OUTPUT0': InferContext.ResultFormat.RAW,
                            'OUTPUT1': InferContext.ResultFormat.RAW}, batch_size)

    output0_data = result['OUTPUT0'][0]
    output1_data = result['OUTPUT1'][0]

    for i in range(16):
        print(str(input0_data[i]) + " + " + str(input1_data[i]) + " = " + str(output0_data[i]))
        print(str(input0_data[i]) + " - " + str(input1_data[i]) + " = " + str(output1_data[i]))
        if (input0_data[i] + input1_data[i]) != output0_data[i]:
            print("error: incorrect sum")
            sys.exit(1)

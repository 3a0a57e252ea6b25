#!/usr/bin/env python
# Synchronous inference, as it was written in 2019: sums and differences of two vectors.

import argparse
from builtins import range
from tensorrtserver.api import *

FLAGS = None

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

    model_name = "simple"
    model_version = -1
    batch_size = 1

    health_ctx = ServerHealthContext(FLAGS.url, protocol, verbose=FLAGS.verbose)
    print("live: {}, ready: {}".format(health_ctx.is_live(), health_ctx.is_ready()))

    infer_ctx = InferContext(FLAGS.url, protocol, model_name, model_version, FLAGS.verbose)

    input0_data = np.arange(start=0, stop=16, dtype=np.int32)
    input1_data = np.ones(shape=16, dtype=np.int32)

    result = infer_ctx.run({ 'INPUT0' : (input0_data,),
                             'INPUT1' : (input1_data,) },
                           { 'OUTPUT0' : InferContext.ResultFormat.RAW,
                             'OUTPUT1' : InferContext.ResultFormat.RAW },
                           batch_size)

    output0_data = result['OUTPUT0'][0]
    output1_data = result['OUTPUT1'][0]

    for i in range(16):
        print(str(input0_data[i]) + " + " + str(input1_data[i]) + " = " + str(output0_data[i]))
        print(str(input0_data[i]) + " - " + str(input1_data[i]) + " = " + str(output1_data[i]))
        if (input0_data[i] + input1_data[i]) != output0_data[i]:
            print("error: incorrect sum")
            sys.exit(1)
        if (input0_data[i] - input1_data[i]) != output1_data[i]:
            print("error: incorrect difference")
            sys.exit(1)

    # The server's answer to a mistake is part of the API too.
    try:
        InferContext(FLAGS.url, protocol, "no_such_model", None, FLAGS.verbose)
        print("error: expected an exception")
        sys.exit(1)
    except InferenceServerException as ex:
        print("expected error: " + ex.message())

    print("PASS")

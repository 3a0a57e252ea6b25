#!/usr/bin/env python
# String tensors, as they were written in 2019: numbers travel as text.

import argparse
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

    ctx = InferContext(FLAGS.url, protocol, "simple_string", -1, FLAGS.verbose)

    in0 = np.arange(start=0, stop=16, dtype=np.int32)
    in0n = np.array([str(x) for x in in0.reshape(in0.size)], dtype=object)
    input0_data = in0n.reshape(in0.shape)
    input1_data = np.array([b'1'] * 16, dtype=object)

    result = ctx.run({ 'INPUT0' : (input0_data,),
                       'INPUT1' : (input1_data,) },
                     { 'OUTPUT0' : InferContext.ResultFormat.RAW,
                       'OUTPUT1' : InferContext.ResultFormat.RAW }, 1)

    for i in range(16):
        # Elements are bytes, whatever was sent.
        r0 = result['OUTPUT0'][0][i].decode('utf-8')
        r1 = result['OUTPUT1'][0][i].decode('utf-8')
        print("'{0}' + '1' = '{1}', '{0}' - '1' = '{2}'".format(input0_data[i], r0, r1))
        if int(r0) != in0[i] + 1:
            print("error: incorrect sum")
            sys.exit(1)
        if int(r1) != in0[i] - 1:
            print("error: incorrect difference")
            sys.exit(1)

    print("PASS")

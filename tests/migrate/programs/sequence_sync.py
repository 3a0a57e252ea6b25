#!/usr/bin/env python

import argparse
import numpy as np
from tensorrtserver.api import *

# Two sequences at a time through a stateful model that accumulates what it is given. Every
# sequence has its own correlation ID. The first and the last value are marked with flags.

def sync_send(ctx, control_value, value, flags):
    return ctx.run({ 'INPUT' : [np.full(shape=[1], fill_value=value, dtype=np.int32)] },
                   { 'OUTPUT' : InferContext.ResultFormat.RAW },
                   batch_size=1, flags=flags)

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000',
                        help='Inference server URL. Default is localhost:8000.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)

    values = [11, 7, 5, 3, 2, 0, 1]
    correlation_id0 = 3001
    correlation_id1 = 3002

    ctx0 = InferContext(FLAGS.url, protocol, "sequence_sum", -1,
                        correlation_id=correlation_id0, verbose=FLAGS.verbose)
    ctx1 = InferContext(FLAGS.url, protocol, "sequence_sum", -1,
                        correlation_id=correlation_id1, verbose=FLAGS.verbose)

    result0_list, result1_list = [], []
    for pos, v in enumerate(values):
        flags = InferRequestHeader.FLAG_NONE
        if pos == 0:
            flags |= InferRequestHeader.FLAG_SEQUENCE_START
        if pos == len(values) - 1:
            flags |= InferRequestHeader.FLAG_SEQUENCE_END
        result0_list.append(sync_send(ctx0, pos, v, flags))
        result1_list.append(sync_send(ctx1, pos, -v, flags))

    for i in range(len(values)):
        print("[" + str(i) + "] " + str(result0_list[i]['OUTPUT'][0][0]) + " : " +
              str(result1_list[i]['OUTPUT'][0][0]))
    print("correlation ids were {} and {}".format(ctx0.correlation_id(), ctx1.correlation_id()))

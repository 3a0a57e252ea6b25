import argparse
import numpy as np
from tensorrtserver.api import *


def send(ctx, control, value):
    if control == "start":
        flags = InferRequestHeader.FLAG_SEQUENCE_START
    elif control == "end":
        flags = InferRequestHeader.FLAG_SEQUENCE_END
    else:
        flags = InferRequestHeader.FLAG_NONE
    result = ctx.run({'INPUT': [np.full(shape=[1], fill_value=value, dtype=np.int32)]},
                     {'OUTPUT': InferContext.ResultFormat.RAW}, batch_size=1, flags=flags)
    return result['OUTPUT'][0][0]


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url')
    parser.add_argument('-i', '--protocol')
    parser.add_argument('-v', '--verbose', action='store_true')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    correlation_id0 = 7001
    correlation_id1 = correlation_id0 + 1
    ctx0 = InferContext(FLAGS.url, protocol, "sequence_sum", correlation_id=correlation_id0, verbose=FLAGS.verbose)
    ctx1 = InferContext(FLAGS.url, protocol, "sequence_sum", correlation_id=correlation_id1, verbose=FLAGS.verbose)
    values = [11, 7, 5, 3]
    for n, value in enumerate(values):
        control = "start" if n == 0 else "end" if n == len(values) - 1 else ""
        print(n, send(ctx0, control, value), send(ctx1, control, -value))
    more = ctx0.run({'INPUT': [np.array([40], dtype=np.int32)]}, {'OUTPUT': InferContext.ResultFormat.RAW}, 1,
                    InferRequestHeader.FLAG_SEQUENCE_START, corr_id=7003)
    print(more['OUTPUT'][0][0], send(ctx0, "end", 2), ctx0.correlation_id())

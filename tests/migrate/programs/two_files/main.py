#!/usr/bin/env python
import argparse
from triton_util import *

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    add_server_arguments(parser)
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    ctx = open_context(FLAGS.url, protocol, 'identity_uint8')
    data = np.arange(4, dtype=np.uint8)
    print(run_one(ctx, data))
    result = ctx.run({'INPUT0': [data, data[::-1].copy()]}, {'OUTPUT0': InferContext.ResultFormat.RAW}, 2)
    print([r.tolist() for r in result['OUTPUT0']])

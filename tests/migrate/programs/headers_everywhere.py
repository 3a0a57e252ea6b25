#!/usr/bin/env python
import argparse
import sys
import numpy as np
from tensorrtserver.api import *

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action='store_true', default=False)
    parser.add_argument('-u', '--url', type=str, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, default='http')
    parser.add_argument('-H', dest='http_headers', metavar='HTTP_HEADER', action='append')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    model_name = 'simple'

    health_ctx = ServerHealthContext(FLAGS.url, protocol,
                                     http_headers=FLAGS.http_headers, verbose=FLAGS.verbose)
    print('alive', health_ctx.is_live(), 'ready', health_ctx.is_ready())
    status_ctx = ServerStatusContext(FLAGS.url, protocol, model_name,
                                     http_headers=FLAGS.http_headers, verbose=FLAGS.verbose)
    status_ctx.get_server_status()
    control_ctx = ModelControlContext(FLAGS.url, protocol, FLAGS.verbose, FLAGS.http_headers)
    control_ctx.load(model_name)

    ctx = InferContext(FLAGS.url, protocol, model_name, -1,
                       http_headers=FLAGS.http_headers, verbose=FLAGS.verbose)
    first = np.arange(16, dtype=np.int32)
    inputs = {'INPUT0': (first,), 'INPUT1': (first * 2,)}
    outputs = {'OUTPUT0': InferContext.ResultFormat.RAW, 'OUTPUT1': InferContext.ResultFormat.RAW}
    result = ctx.run(inputs, outputs, 1)
    print(result['OUTPUT0'][0].sum(), result['OUTPUT1'][0].sum())

    answers = []
    ids = [ctx.async_run(lambda context, id: answers.append(id), inputs, outputs, 1) for _ in range(6)]
    while len(answers) < 6:
        pass
    print(sum(ctx.get_async_run_results(id)['OUTPUT0'][0].sum() for id in answers))

#!/usr/bin/env python
# Asynchronous inference with request ids, as it was written up to release 1.7 (2019-10).

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

    ctx = InferContext(FLAGS.url, protocol, "simple", None, FLAGS.verbose)
    ones = np.ones(shape=16, dtype=np.int32)
    outputs = { 'OUTPUT0' : InferContext.ResultFormat.RAW,
                'OUTPUT1' : InferContext.ResultFormat.RAW }

    # Batches of two, several requests under way.
    request_ids = []
    for first in (10, 20, 30, 40):
        data = [np.full(shape=16, fill_value=first + i, dtype=np.int32) for i in range(2)]
        request_ids.append(ctx.async_run({ 'INPUT0' : data, 'INPUT1' : [ones, ones] }, outputs, 2))
    print("request ids: {}".format(request_ids))

    # Wait for one by its id ...
    result = ctx.get_async_run_results(request_ids[2], True)
    print("request {}: {}".format(request_ids[2], [int(r[0]) for r in result['OUTPUT0']]))
    if [int(r[0]) for r in result['OUTPUT0']] != [31, 32]:
        print("error: incorrect result")
        sys.exit(1)

    # ... and for the others in whatever order they get ready.
    left = { request_ids[0] : 10, request_ids[1] : 20, request_ids[3] : 40 }
    while left:
        ready_id = ctx.get_ready_async_request(True)
        result = ctx.get_async_run_results(ready_id, False)
        first = left.pop(ready_id)
        for i in range(2):
            if (result['OUTPUT0'][i] != first + i + 1).any():
                print("error: incorrect sum for request {}".format(ready_id))
                sys.exit(1)
            if (result['OUTPUT1'][i] != first + i - 1).any():
                print("error: incorrect difference for request {}".format(ready_id))
                sys.exit(1)
    print("all {} requests are done".format(len(request_ids)))

    print("PASS")

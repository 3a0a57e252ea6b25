#!/usr/bin/env python
# Asynchronous inference with callbacks, as it was written from release 1.8 (2019-11) on.

import argparse
from functools import partial
from tensorrtserver.api import *

if sys.version_info >= (3, 0):
    import queue
else:
    import Queue as queue

FLAGS = None


class UserData:
    def __init__(self):
        self._completed_requests = queue.Queue()


# Called by the context's own thread. The results may be fetched here or later.
def completion_callback(user_data, input_value, infer_ctx, request_id):
    user_data._completed_requests.put((input_value, request_id))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000',
                        help='Inference server URL. Default is localhost:8000.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http',
                        help='Protocol ("http"/"grpc"). Default is "http".')
    parser.add_argument('-n', '--requests', type=int, required=False, default=16,
                        help='Number of requests in flight at once. Default is 16.')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)

    user_data = UserData()
    with InferContext(FLAGS.url, protocol, "simple", -1, verbose=FLAGS.verbose) as ctx:
        input1_data = np.ones(shape=16, dtype=np.int32)
        for value in range(FLAGS.requests):
            input0_data = np.full(shape=16, fill_value=value, dtype=np.int32)
            ctx.async_run(partial(completion_callback, user_data, value),
                          { 'INPUT0' : [input0_data], 'INPUT1' : [input1_data] },
                          { 'OUTPUT0' : InferContext.ResultFormat.RAW,
                            'OUTPUT1' : InferContext.ResultFormat.RAW })
        print("sent {} requests".format(FLAGS.requests))

        received = {}
        while len(received) < FLAGS.requests:
            value, request_id = user_data._completed_requests.get(timeout=60)
            received[value] = ctx.get_async_run_results(request_id)

        for value in sorted(received):
            output0_data = received[value]['OUTPUT0'][0]
            output1_data = received[value]['OUTPUT1'][0]
            print("{0} + 1 = {1}, {0} - 1 = {2}".format(value, output0_data[0], output1_data[0]))
            if (output0_data != value + 1).any() or (output1_data != value - 1).any():
                print("error: incorrect result for {}".format(value))
                sys.exit(1)

        stat = ctx.get_stat()
        print("completed requests: {}".format(stat['completed_request_count']))

    print("PASS")

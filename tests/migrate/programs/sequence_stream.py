#!/usr/bin/env python
import argparse
import sys
from functools import partial
from tensorrtserver.api import *
import queue as q

class UserData:
    def __init__(self):
        self._completed_requests = q.Queue()

def stream_callback(user_data, ctx, request_id):
    user_data._completed_requests.put(request_id)

def async_stream_send(ctx, values, correlation_id, user_data):
    count = 1
    for value in values:
        # Create the tensor for INPUT
        value_data = np.full(shape=[1], fill_value=value, dtype=np.int32)
        flags = InferRequestHeader.FLAG_NONE
        if count == 1:
            flags = flags | InferRequestHeader.FLAG_SEQUENCE_START
        if count == len(values):
            flags = flags | InferRequestHeader.FLAG_SEQUENCE_END
        ctx.async_run(partial(stream_callback, user_data),
                      { 'INPUT' : (value_data,) },
                      { 'OUTPUT' : InferContext.ResultFormat.RAW },
                      batch_size=1, flags=flags, corr_id=correlation_id)
        count = count + 1

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8001',
                        help='Inference server URL and it gRPC port. Default is localhost:8001.')
    parser.add_argument('-o', '--offset', type=int, required=False, default=0,
                        help='Add offset to sequence ID used')
    FLAGS = parser.parse_args()

    protocol = ProtocolType.from_str("grpc")
    values = [11, 7, 5, 3, 2, 0, 1]
    correlation_id = 4001 + FLAGS.offset * 2

    # The context is streaming, so that the order is kept
    ctx = InferContext(FLAGS.url, protocol, "sequence_sum", -1,
                       correlation_id=0, verbose=FLAGS.verbose, streaming=True)
    user_data = UserData()
    try:
        async_stream_send(ctx, [0] + values, correlation_id, user_data)
        async_stream_send(ctx, [100] + [-1 * val for val in values], correlation_id + 1, user_data)
    except InferenceServerException as ex:
        print(ex)
        sys.exit(1)

    results = []
    for i in range(2 * (len(values) + 1)):
        request_id = user_data._completed_requests.get()
        results.append(ctx.get_async_run_results(request_id))

    for i in range(len(values) + 1):
        print("[{}] {} : {}".format(i, results[i]['OUTPUT'][0][0],
                                    results[i + len(values) + 1]['OUTPUT'][0][0]))
    print("PASS: Sequence")

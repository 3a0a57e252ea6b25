#!/usr/bin/env python
# Two sequences through a stateful model, as it was written in 2020: the model adds up the
# values of each sequence. With --streaming (gRPC only) all requests share one stream.

import argparse
from functools import partial
from tensorrtserver.api import *

if sys.version_info >= (3, 0):
    import queue
else:
    import Queue as queue

FLAGS = None


def flags_for(index, count):
    flags = InferRequestHeader.FLAG_NONE
    if index == 0:
        flags = flags | InferRequestHeader.FLAG_SEQUENCE_START
    if index == count - 1:
        flags = flags | InferRequestHeader.FLAG_SEQUENCE_END
    return flags


def sync_send(result_list, values, correlation_id, protocol):
    with InferContext(FLAGS.url, protocol, "sequence_sum", -1,
                      correlation_id=correlation_id, verbose=FLAGS.verbose) as ctx:
        for index, value in enumerate(values):
            result = ctx.run({ 'INPUT' : [np.array([value], dtype=np.int32)] },
                             { 'OUTPUT' : InferContext.ResultFormat.RAW },
                             batch_size=1, flags=flags_for(index, len(values)))
            result_list.append(int(result['OUTPUT'][0][0]))


def stream_callback(completed, ctx, request_id):
    completed.put(request_id)


def stream_send(result_lists, value_lists, correlation_ids, protocol):
    completed = queue.Queue()
    ctx = InferContext(FLAGS.url, protocol, "sequence_sum", -1, FLAGS.verbose, 0, True)
    count = len(value_lists[0])
    # One value of each sequence in turn, all of them under way before the first answer is read.
    for index in range(count):
        for values, correlation_id in zip(value_lists, correlation_ids):
            ctx.async_run(partial(stream_callback, completed),
                          { 'INPUT' : [np.array([values[index]], dtype=np.int32)] },
                          { 'OUTPUT' : InferContext.ResultFormat.RAW },
                          batch_size=1, flags=flags_for(index, count), corr_id=correlation_id)
    # Answers of one sequence come in the order of its requests; ids count from 1.
    answers = {}
    for _ in range(count * len(value_lists)):
        request_id = completed.get(timeout=60)
        answers[request_id] = int(ctx.get_async_run_results(request_id)['OUTPUT'][0][0])
    for position, request_id in enumerate(sorted(answers)):
        result_lists[position % len(value_lists)].append(answers[request_id])
    ctx.close()


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8001',
                        help='Inference server URL. Default is localhost:8001.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='grpc',
                        help='Protocol ("http"/"grpc"). Default is "grpc".')
    parser.add_argument('-s', '--streaming', action="store_true", required=False, default=False,
                        help='Use one gRPC stream for all requests.')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    if FLAGS.streaming and protocol != ProtocolType.GRPC:
        print("error: streaming needs -i grpc")
        sys.exit(1)

    values = [11, 7, 5, 3, 2, 0, 1]
    value_lists = [values, [-v for v in values]]
    result_lists = [[], []]
    correlation_ids = [1000, 2 ** 63 + 1]

    try:
        if FLAGS.streaming:
            stream_send(result_lists, value_lists, correlation_ids, protocol)
        else:
            for i in range(2):
                sync_send(result_lists[i], value_lists[i], correlation_ids[i], protocol)
    except InferenceServerException as ex:
        print(ex)
        sys.exit(1)

    for i in range(2):
        print("sequence {}: {} -> {}".format(correlation_ids[i], value_lists[i], result_lists[i]))
        if result_lists[i] != [int(x) for x in np.cumsum(value_lists[i])]:
            print("error: incorrect running sums")
            sys.exit(1)

    print("PASS")

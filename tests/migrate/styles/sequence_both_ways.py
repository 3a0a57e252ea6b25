import argparse
import queue
import sys
from functools import partial
import numpy as np
from tensorrtserver.api import *

FLAGS = None


class UserData:
    def __init__(self):
        self.completed = queue.Queue()


def callback(user_data, infer_ctx, request_id):
    user_data.completed.put((infer_ctx, request_id))


def flags_of(n, last):
    flags = InferRequestHeader.FLAG_NONE
    if n == 0:
        flags = flags | InferRequestHeader.FLAG_SEQUENCE_START
    if n == last:
        flags = flags | InferRequestHeader.FLAG_SEQUENCE_END
    return flags


def sync_send(ctx, results, values, sequence_id):
    for n, value in enumerate(values):
        results.append(send_one(ctx, value, sequence_id, flags_of(n, len(values) - 1)))


def send_one(ctx, value, sequence_id, flags):
    result = ctx.run({"INPUT": [np.full([1], value, np.int32)]}, {"OUTPUT": InferContext.ResultFormat.RAW},
                     batch_size=1, flags=flags, corr_id=sequence_id)
    return result["OUTPUT"][0][0]


def async_send(ctx, user_data, values, sequence_id, batch_size=1):
    for n, value in enumerate(values):
        ctx.async_run(partial(callback, user_data),
                      {"INPUT": [np.full([1], value, np.int32)] * batch_size},
                      {"OUTPUT": InferContext.ResultFormat.RAW},
                      batch_size=batch_size, flags=flags_of(n, len(values) - 1), corr_id=sequence_id)


def main():
    global FLAGS
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url")
    parser.add_argument("-i", "--protocol", default="http")
    parser.add_argument("-a", "--async", dest="async_set", action="store_true")
    parser.add_argument("-s", "--streaming", action="store_true", default=False)
    parser.add_argument("-v", "--verbose", action="store_true", default=False)
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    model = "sequence_sum"
    values = [11, 7, 5, 3]
    if FLAGS.async_set:
        if FLAGS.streaming:
            ctx0 = InferContext(FLAGS.url, protocol, model, correlation_id=501, verbose=FLAGS.verbose, streaming=True)
            ctx1 = InferContext(FLAGS.url, protocol, model, correlation_id=502, verbose=FLAGS.verbose, streaming=True)
        else:
            ctx0 = InferContext(FLAGS.url, protocol, model, correlation_id=501, verbose=FLAGS.verbose)
            ctx1 = InferContext(FLAGS.url, protocol, model, correlation_id=502, verbose=FLAGS.verbose)
        user_data = UserData()
        async_send(ctx0, user_data, values, 501)
        async_send(ctx1, user_data, values, 502)
        got = {501: [], 502: []}
        for _ in range(2 * len(values)):
            ctx, number = user_data.completed.get()
            result = ctx.get_async_run_results(number)
            got[501 if ctx is ctx0 else 502].append(int(result["OUTPUT"][0][0]))
        print({key: sorted(value) for key, value in got.items()})
    else:
        ctx0 = InferContext(FLAGS.url, protocol, model, correlation_id=501, streaming=FLAGS.streaming)
        results = []
        sync_send(ctx0, results, values, 501)
        print([int(r) for r in results])


if __name__ == "__main__":
    main()

import argparse
import queue
from functools import partial
import numpy as np
from tensorrtserver.api import *


class UserData:
    def __init__(self):
        self._completed_requests = queue.Queue()


def completion_callback(user_data, infer_ctx, request_id):
    user_data._completed_requests.put(request_id)


def async_send(infer_ctx, user_data, count):
    for n in range(count):
        data = np.arange(16, dtype=np.int32) + n
        infer_ctx.async_run(partial(completion_callback, user_data),
                            {"INPUT0": [data], "INPUT1": [data]},
                            {"OUTPUT0": InferContext.ResultFormat.RAW}, batch_size=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url')
    parser.add_argument('-i', '--protocol')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    user_data = UserData()
    infer_ctx = InferContext(FLAGS.url, protocol, "simple", None, False)
    async_send(infer_ctx, user_data, 8)
    sums = []
    processed = 0
    while processed < 8:
        request_id = user_data._completed_requests.get()
        processed += 1
        results = infer_ctx.get_async_run_results(request_id)
        sums.append(int(results["OUTPUT0"][0].sum()))
    print(sorted(sums))


if __name__ == '__main__':
    main()

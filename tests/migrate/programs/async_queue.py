#!/usr/bin/env python

import argparse
import queue
from functools import partial

import numpy as np
from tensorrtserver.api import InferContext, ProtocolType, InferenceServerException


class UserData:
    def __init__(self):
        self._completed_requests = queue.Queue()


def completion_callback(user_data, infer_ctx, request_id):
    user_data._completed_requests.put((infer_ctx, request_id))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', type=str, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, default='http')
    parser.add_argument('-n', type=int, default=6)
    args = parser.parse_args()

    ctx = InferContext(args.url, ProtocolType.from_str(args.protocol), 'simple', -1, verbose=False)

    input0_data = np.arange(start=0, stop=16, dtype=np.int32)
    input1_data = np.ones(shape=16, dtype=np.int32)
    user_data = UserData()
    request_cnt = args.n

    try:
        for i in range(request_cnt):
            ctx.async_run(partial(completion_callback, user_data),
                          {'INPUT0': (input0_data,), 'INPUT1': (input1_data,)},
                          {'OUTPUT0': InferContext.ResultFormat.RAW,
                           'OUTPUT1': InferContext.ResultFormat.RAW},
                          1)
    except InferenceServerException as e:
        print("could not send: " + e.message())
        raise SystemExit(1)

    done = 0
    while done < request_cnt:
        (infer_ctx, request_id) = user_data._completed_requests.get()
        results = infer_ctx.get_async_run_results(request_id)
        done += 1
        out0 = results['OUTPUT0'][0]
        out1 = results['OUTPUT1'][0]
        for i in range(16):
            assert out0[i] == input0_data[i] + input1_data[i], "incorrect sum"
            assert out1[i] == input0_data[i] - input1_data[i], "incorrect difference"
        print('{} of {} done, last sum is {}'.format(done, request_cnt, out0[15]))


if __name__ == '__main__':
    main()

import argparse
import contextlib
import functools
import time

import numpy as np
from tensorrtserver.api import InferContext as IC
from tensorrtserver.api import InferenceServerException as ISE
from tensorrtserver.api import ProtocolType as PT


def retry(times):
    def decorate(f):
        @functools.wraps(f)
        def wrapped(*args, **kwargs):
            for attempt in range(times):
                try:
                    return f(*args, **kwargs)
                except ISE as error:
                    last = error
                    time.sleep(0.01)
            raise last
        return wrapped
    return decorate


@contextlib.contextmanager
def model(url, protocol, name):
    ctx = IC(url, protocol, name)
    try:
        yield ctx
    finally:
        ctx.close()


@retry(2)
def double(ctx, x):
    got = ctx.run({'in/put:0': [x]}, {'out/put:1': IC.ResultFormat.RAW}, 1)
    return got['out/put:1'][0]


if __name__ == '__main__':
    p = argparse.ArgumentParser()
    p.add_argument('-u', '--url')
    p.add_argument('-i', '--protocol', type=PT.from_str)
    args = p.parse_args()
    with model(args.url, args.protocol, 'tensor_names') as m:
        print(double(m, np.array([1, 2, 3, 4], np.float32)))
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(model(args.url, args.protocol, 'tensor_names'))
        second = stack.enter_context(IC(args.url, args.protocol, 'tensor_names'))
        total = double(first, np.zeros(4, np.float32)) + double(second, np.ones(4, np.float32))
        print(total.tolist())
    with model(args.url, args.protocol, 'tensor_names') as m:
        try:
            double(m, np.zeros(5, np.float32))
        except ISE:
            print('refused twice')

# Contexts that carry more: a subclass with its own close, a helper module's functions, pickled bytes as input.
import argparse
import pickle
import numpy as np
from tensorrtserver.api import *

FLAGS = None


class ManagedContext(InferContext):
    def __init__(self, url, protocol, model_name, model_version=None, http_headers=[], verbose=False):
        InferContext.__init__(self, url, protocol, model_name, model_version, http_headers, verbose)
        self.calls = 0

    def ask(self, batch):
        self.calls += 1
        return self.run({'INPUT0': batch}, {'OUTPUT0': InferContext.ResultFormat.RAW}, len(batch))['OUTPUT0']

    def close(self):
        print("closing after", self.calls)
        InferContext.close(self)


def as_strings(values):
    return np.array([str(value).encode('utf-8') for value in values], dtype=bytes)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', type=str, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, default='http')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)

    with ManagedContext(FLAGS.url, protocol, 'identity_string', 1) as ctx:
        for row in ctx.ask([as_strings(range(3)), as_strings("abc")]):
            print([text.decode('utf-8') for text in row])

    plain = InferContext(FLAGS.url, protocol, 'simple_string', -1, False)
    in0 = np.array([str(n) for n in range(16)], dtype=object)
    in1 = np.array(['1' for _ in range(16)]).astype(object)
    result = plain.run({'INPUT0': [in0], 'INPUT1': [in1]}, {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)
    print([int(text.decode()) for text in result['OUTPUT0'][0]])
    plain.close()

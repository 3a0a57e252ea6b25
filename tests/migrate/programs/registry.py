#!/usr/bin/env python
"""Keeps a table of models, as our old pipeline had it in a YAML file."""
import argparse
from collections import namedtuple, OrderedDict

from tensorrtserver.api import *

Spec = namedtuple('Spec', 'model input output batch')
TABLE = OrderedDict([
    ('embed', Spec('identity_fp32', 'INPUT0', 'OUTPUT0', 2)),
    ('count', Spec('identity_int32', 'INPUT0', 'OUTPUT0', 1)),
    ('rank', Spec('classify', 'INPUT', 'OUTPUT', 1)),
])
DTYPES = {'embed': np.float32, 'count': np.int32, 'rank': np.float32}


class Registry(object):
    def __init__(self, url, protocol):
        self.contexts = {}
        for key, spec in TABLE.items():
            self.contexts[key] = InferContext(url, protocol, spec.model, -1)
            setattr(self, 'ctx_' + key, self.contexts[key])

    def __getitem__(self, key):
        return self.contexts[key]

    def call(self, key, values, kind=InferContext.ResultFormat.RAW):
        spec = TABLE[key]
        data = np.array(values, dtype=DTYPES[key])
        inputs = {spec.input: [data] * spec.batch}
        outputs = {spec.output: kind}
        return self.contexts[key].run(inputs, outputs, spec.batch)[spec.output]


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', default='localhost:8000')
    parser.add_argument('-i', '--protocol', default='http')
    flags, rest = parser.parse_known_args()
    registry = Registry(flags.url, ProtocolType.from_str(flags.protocol))
    print([r.tolist() for r in registry.call('embed', [1, 2])])
    print([r.tolist() for r in registry.call('count', [7])])
    print(registry.call('rank', range(10), (InferContext.ResultFormat.CLASS, 2)))
    direct = registry['count'].run({'INPUT0': [np.zeros(2, np.int32)]}, {'OUTPUT0': InferContext.ResultFormat.RAW})
    print(direct['OUTPUT0'])

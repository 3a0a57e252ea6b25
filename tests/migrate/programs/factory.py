#!/usr/bin/env python
"""One context per model, made when it is first needed."""
import sys
import numpy as np
import tensorrtserver.api as trt

_contexts = {}


def make_context(url, protocol, model, version=None, verbose=False):
    return trt.InferContext(url, protocol, model, version, verbose)


def get_context(model, version=None):
    key = (model, version)
    if key not in _contexts:
        _contexts[key] = make_context(URL, PROTOCOL, model, version)
    return _contexts[key]


def ask_version(version):
    ctx = get_context('multi_version', version)
    r = ctx.run({'INPUT0': [np.zeros(1, dtype=np.float32)]},
                {'OUTPUT0': trt.InferContext.ResultFormat.RAW})
    return int(r['OUTPUT0'][0][0])


URL = sys.argv[1]
PROTOCOL = trt.ProtocolType.from_str(sys.argv[2])
for v in (1, 2, 3, None):
    print('asked for', v, 'answered by', ask_version(v))
print(len(_contexts), 'contexts')
ctx = get_context('identity_int64')
big = np.array([2 ** 40, -1], dtype=np.int64)
print(ctx.run({'INPUT0': [big]}, {'OUTPUT0': trt.InferContext.ResultFormat.RAW}, 1)['OUTPUT0'][0].tolist())
for ctx in _contexts.values():
    ctx.close()

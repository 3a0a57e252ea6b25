import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType, ServerStatusContext

URL, PROTO = sys.argv[1], ProtocolType.from_str(sys.argv[2])


def make(model, **kw):
    return InferContext(URL, PROTO, model, **kw)


def make_positional(model, *args):
    return InferContext(URL, PROTO, model, *args)


def run_once(model, inputs, outputs, batch_size=1, **options):
    ctx = make(model, **options)
    try:
        return ctx.run(inputs, {o: InferContext.ResultFormat.RAW for o in outputs}, batch_size)
    finally:
        ctx.close()


x = np.array([1, 2, 3], dtype=np.float32)
print(run_once("identity_fp32", {"INPUT0": [x]}, ["OUTPUT0"]))
print(run_once("multi_version", {"INPUT0": [x[:1], x[1:2]]}, ["OUTPUT0"], 2, model_version=3))
c = make("multi_version", model_version=1, verbose=False)
print(c.run({"INPUT0": [x[:1]]}, {"OUTPUT0": InferContext.ResultFormat.RAW}))
d = make_positional("multi_version", 2, False)
print(d.run({"INPUT0": [x[:1]]}, {"OUTPUT0": InferContext.ResultFormat.RAW}))

"""``with`` wrappers and contextlib."""
import sys
import time
from contextlib import contextmanager, closing
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType, ModelControlContext, InferenceServerException


@contextmanager
def model(url, protocol, name, version=-1):
    ctx = InferContext(url, protocol, name, version)
    try:
        yield ctx
    finally:
        ctx.close()


@contextmanager
def timed(label):
    start = time.time()
    yield
    print(label, time.time() - start < 60)


class Loaded:
    def __init__(self, url, protocol, name):
        self.control = ModelControlContext(url, protocol)
        self.name = name

    def __enter__(self):
        self.control.load(self.name)
        return self.name

    def __exit__(self, *exc):
        return False


url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
RAW = InferContext.ResultFormat.RAW
with timed("int16"), model(url, protocol, "identity_int16") as c:
    print(c.run({"INPUT0": [np.array([1, -1], np.int16)]}, {"OUTPUT0": RAW}, 1))
with closing(InferContext(url, protocol, "identity_fp64")) as c:
    print(c.run({"INPUT0": [np.array([0.1])]}, {"OUTPUT0": (RAW)}, 1)["OUTPUT0"][0][0])
try:
    with model(url, protocol, "no_such_model") as c:
        print("never")
except InferenceServerException as e:
    print("no such model" if "unknown model" in e.message() or "no_such_model" in str(e) else e)

import os, sys, json
from functools import partial
from collections import namedtuple
import numpy as np
import tensorrtserver.api as trtis
from tensorrtserver.api import model_config_pb2

Conf = namedtuple("Conf", "host port proto model version")
conf = Conf(sys.argv[2].split(":")[0], sys.argv[2].split(":")[1], sys.argv[4], "simple", -1)
_contexts = {}

def get_context(model):
    key = (conf.proto, model)
    if key not in _contexts:
        _contexts[key] = trtis.InferContext("{}:{}".format(conf.host, conf.port),
            trtis.ProtocolType.from_str(conf.proto), model, conf.version)
    return _contexts[key]

def infer(model, payload):
    ctx = get_context(model)
    data = {k: [np.asarray(v, dtype=np.int32)] for k, v in payload.items()}
    out = ctx.run(data, {"OUTPUT0": trtis.InferContext.ResultFormat.RAW})
    return {k: v[0].tolist() for k, v in out.items()}

def classify(payload, k=2):
    ctx = get_context("classify")
    res = ctx.run({"INPUT": [np.float32(payload)]}, {"OUTPUT": (trtis.InferContext.ResultFormat.CLASS, k)})
    return [dict(idx=c[0], value=round(c[1], 4), label=c[2]) for c in res["OUTPUT"][0]]

print(json.dumps(infer("simple", {"INPUT0": list(range(16)), "INPUT1": [1]*16})))
print(json.dumps(classify([0.1*i for i in range(10)])))
try:
    infer("simple", {"INPUT0": list(range(15)), "INPUT1": [1]*16})
except trtis.InferenceServerException as e:
    print("bad input")
try:
    infer("nope", {})
except trtis.InferenceServerException as e:
    print("bad model")

"""A v1 program for servers other than Triton: prints one JSON object. Run by the genuine client.

    python genuine_open.py http|grpc URL MODEL

It is written in the v1 API only, and for Python 3.6.
"""

import json
import sys

import numpy as np

from tensorrtserver.api import InferContext, InferenceServerException, ProtocolType

RAW, CLASS = InferContext.ResultFormat.RAW, InferContext.ResultFormat.CLASS
FLOWERS = [[5.1, 3.5, 1.4, 0.2], [6.0, 2.7, 4.1, 1.0], [6.5, 3.0, 5.8, 2.2]]


def flowers(context):
    inputs = {"values": [np.array(one) for one in FLOWERS]}
    found = context.run(inputs, {"predict": RAW, "predict_proba": (CLASS, 1)}, 3)
    return {
        "predict": [one.tolist() for one in found["predict"]],
        "best": [[row[0][0], row[0][2]] for row in found["predict_proba"]],
    }


def total(context):
    row = np.arange(16, dtype=np.int32)
    found = context.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": RAW})
    return {"total": found["OUTPUT0"][0].tolist()}


def main(protocol, url, model):
    kind = ProtocolType.from_str(protocol)
    act = total if model == "simple" else flowers
    found = act(InferContext(url, kind, model))
    found["kind"] = "stream" if protocol == "grpc" else "sequence"
    options = {"streaming": True} if protocol == "grpc" else {"correlation_id": 7}
    try:
        act(InferContext(url, kind, model, **options))
        found["refused"] = False
    except InferenceServerException:
        found["refused"] = True
    print(json.dumps(found))


main(*sys.argv[1:])

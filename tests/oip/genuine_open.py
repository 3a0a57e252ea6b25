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
    inputs = {"values": [np.array(flower) for flower in FLOWERS]}
    result = context.run(inputs, {"predict": RAW, "predict_proba": (CLASS, 1)}, 3)
    return {
        "predict": [item.tolist() for item in result["predict"]],
        "best": [[row[0][0], row[0][2]] for row in result["predict_proba"]],
    }


def total(context):
    row = np.arange(16, dtype=np.int32)
    result = context.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": RAW})
    return {"total": result["OUTPUT0"][0].tolist()}


def main(protocol, url, model):
    kind = ProtocolType.from_str(protocol)
    act = total if model == "simple" else flowers
    result = act(InferContext(url, kind, model))
    result["kind"] = "stream" if protocol == "grpc" else "sequence"
    options = {"streaming": True} if protocol == "grpc" else {"correlation_id": 7}
    try:
        act(InferContext(url, kind, model, **options))
        result["refused"] = False
    except InferenceServerException:
        result["refused"] = True
    print(json.dumps(result))


main(*sys.argv[1:])

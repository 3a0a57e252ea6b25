# The part of our web service that talks to TRTIS; handlers() stands in for the web framework.
import argparse
import json
import numpy as np
from tensorrtserver.api import *

infer_ctx = None


def load(url, protocol):
    global infer_ctx
    infer_ctx = InferContext(url, protocol, "classify", -1, False, correlation_id=0, streaming=False)


def predict(body):
    payload = json.loads(body)
    batch = [np.array(p, dtype=np.float32) for p in payload["instances"]]
    top = payload.get("top", 1)
    try:
        out = infer_ctx.run({"INPUT": batch}, {"OUTPUT": (InferContext.ResultFormat.CLASS, top)}, len(batch))
    except InferenceServerException as e:
        return json.dumps({"error": "inference failed"})
    return json.dumps({"predictions": [[{"id": c[0], "label": c[2]} for c in cs] for cs in out["OUTPUT"]]}, sort_keys=True)


def handlers():
    zeros = [0.0] * 10
    one = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0.5]
    yield {"instances": [one]}
    yield {"instances": [one, one[::-1]], "top": 2}
    yield {"instances": [zeros + zeros]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url", default="localhost:8000")
    parser.add_argument("-i", "--protocol", default="http", choices=["http", "grpc"])
    flags = parser.parse_args()
    load(flags.url, ProtocolType.from_str(flags.protocol))
    for request in handlers():
        print(predict(json.dumps(request)))

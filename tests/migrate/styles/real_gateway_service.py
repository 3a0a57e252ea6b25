"""A small web-service handler: contexts per model in a dict, results as JSON."""
import json
import os
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType, InferenceServerException, ModelControlContext

URL = os.environ.get("TRTIS_URL", "localhost:8000")
PROTOCOL = ProtocolType.from_str(os.environ.get("TRTIS_PROTOCOL", "http"))
_contexts = {}


def context_for(model):
    if model not in _contexts:
        _contexts[model] = InferContext(URL, PROTOCOL, model, -1, False)
    return _contexts[model]


def handle(body):
    request = json.loads(body)
    model = request["model"]
    try:
        values = np.array(request["values"], dtype=request.get("dtype", "float32"))
        result = context_for(model).run({"INPUT0": [values]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
    except InferenceServerException as ex:
        return json.dumps({"error": "unknown model" in ex.message()})
    return json.dumps({"values": result["OUTPUT0"][0].tolist()})


def main():
    print(handle('{"model": "identity_fp32", "values": [1, 2.5]}'))
    print(handle('{"model": "identity_int32", "values": [7], "dtype": "int32"}'))
    print(handle('{"model": "identity_fp32", "values": [[4]]}'))
    print(handle('{"model": "nothing_of_this_name", "values": [4]}'))
    print(sorted(_contexts))


main()

import sys
import numpy as np
from tensorrtserver.api import *

url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
model = "tensor_names"


def counts():
    status = ServerStatusContext(url, protocol, model).get_server_status()
    version = status.model_status[model].version_status[1]
    return version.model_execution_count, version.model_inference_count


ctx = InferContext(url, protocol, model)
before = counts()
for _ in range(2):
    out = ctx.run({"in/put:0": [np.ones(4, np.float32)]},
                  {"out/put:1": InferContext.ResultFormat.RAW, "out/put:0": InferContext.ResultFormat.RAW})
after = counts()
print([b - a for a, b in zip(before, after)], sorted(out), out["out/put:0"][0].tolist())
status = ServerStatusContext(url, protocol).get_server_status()
print(status.id.split(":")[0] != "", status.uptime_ns > 0, status.ready_state == SERVER_READY if "SERVER_READY" in globals() else True)

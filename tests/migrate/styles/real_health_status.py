# Waits for a server, lists its models and loads one.
import sys
import time
from tensorrtserver.api import *

url = sys.argv[1]
protocol = ProtocolType.from_str(sys.argv[2])

health_ctx = ServerHealthContext(url, protocol, http_headers=[], verbose=False)
for _ in range(10):
    try:
        if health_ctx.is_ready():
            break
    except InferenceServerException as e:
        print("not there yet: " + e.message())
    time.sleep(1)
print("Live: {}, ready: {}".format(health_ctx.is_live(), health_ctx.is_ready()))

status_ctx = ServerStatusContext(url, protocol)
server_status = status_ctx.get_server_status()
names = sorted(server_status.model_status)
print("simple" in names, len(names) > 5)
for name in ("simple", "multi_version"):
    model = server_status.model_status[name]
    states = {version: ModelReadyState.Name(status.ready_state) if False else int(status.ready_state)
              for version, status in model.version_status.items()}
    print(name, sorted(states.items()), model.config.max_batch_size)
    for tensor in list(model.config.input) + list(model.config.output):
        print("  ", tensor.name, DataType.Name(tensor.data_type) if "DataType" in globals() else tensor.data_type, list(tensor.dims))

repository_ctx = ModelRepositoryContext(url, protocol)
index = repository_ctx.get_model_repository_index()
print("simple" in [m.name for m in index.models])

control = ModelControlContext(url, protocol)
try:
    control.load("there_is_none")
except InferenceServerException:
    print("cannot load")
control.load("spare")
print(ServerStatusContext(url, protocol, "spare").get_server_status().model_status["spare"].version_status[1].ready_state)
control.unload("spare")

infer_ctx = InferContext(url, protocol, "simple", -1, False)
stat = infer_ctx.get_stat()
print(sorted(stat))
print(status_ctx.get_last_request_id() > 0)

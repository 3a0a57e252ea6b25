import sys
from tensorrtserver.api import *

protocol = ProtocolType.from_str(sys.argv[2])


def size(name):
    status = ServerStatusContext(sys.argv[1], protocol, name).get_server_status()
    if name not in status.model_status:
        return "unknown"
    return status.model_status[name].config.max_batch_size


for model in ("simple", "no such model"):
    try:
        print(size(model))
    except InferenceServerException:
        print("caught")
control = ModelControlContext(sys.argv[1], protocol)
spare = ServerStatusContext(sys.argv[1], protocol, "spare")
control.load("spare")
status = spare.get_server_status()
print(status.model_status["spare"].version_status[1], list(status.model_status))
control.unload("spare")
while status.model_status["spare"].version_status[1].ready_state != 2:
    status = spare.get_server_status()
print(status.model_status["spare"], [status.model_status["spare"]])
print(status.ready_state, str(status)[-50:])
print(status.model_status["none"], status.model_status["none"].version_status[3].ready_state)

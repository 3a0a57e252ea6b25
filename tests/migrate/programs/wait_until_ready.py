#!/usr/bin/env python3
import os
import time
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.api.server_status_pb2 as server_status

def wait_for_server_ready(url, protocol, timeout=30):
    while timeout > 0:
        try:
            ctx = ServerHealthContext(url, protocol)
            if ctx.is_ready():
                return True
        except InferenceServerException:
            pass
        timeout -= 1
        time.sleep(1)
    return False

def wait_for_model(url, protocol, name, timeout=30):
    ctx = ServerStatusContext(url, protocol, name)
    for _ in range(timeout):
        model_status = ctx.get_server_status().model_status
        if name in model_status and model_status[name].version_status[1].ready_state == server_status.MODEL_READY:
            return True
        time.sleep(1)
    return False

url = os.environ.get("TRTIS_URL", "localhost:8000")
protocol = ProtocolType.GRPC if os.environ.get("TRTIS_PROTOCOL") == "grpc" else ProtocolType.HTTP
print("server:", wait_for_server_ready(url, protocol))
print("model:", wait_for_model(url, protocol, "simple"))

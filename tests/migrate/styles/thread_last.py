import sys
import threading
import numpy as np
from tensorrtserver.api import *

url = sys.argv[1]
protocol = ProtocolType.from_str(sys.argv[2])
ctx = InferContext(url, protocol, "simple")
names = []


def worker():
    row = np.arange(16, dtype=np.int32)
    result = ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
    names.append((ctx.get_last_request_model_name(), ctx.get_last_request_model_version(), int(result["OUTPUT0"][0][3])))


thread = threading.Thread(target=worker)
thread.start()
thread.join()
print(names)
print(ctx.get_last_request_model_name(), ctx.get_stat()["completed_request_count"])

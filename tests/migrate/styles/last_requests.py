import sys
from tensorrtserver.api import *

protocol = ProtocolType.from_str(sys.argv[2])
ctx = InferContext(sys.argv[1], protocol, "simple", correlation_id=12)
other = InferContext(sys.argv[1], protocol, "multi_version", 2)
print(ctx.get_last_request_model_name(), ctx.get_last_request_model_version())
row = np.arange(16, dtype=np.int32)
for _ in range(3):
    ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
other.run({"INPUT0": [np.zeros(1, np.float32)]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
print(ctx.get_last_request_model_name(), other.get_last_request_model_version())
stat = ctx.get_stat()
print(stat["completed_request_count"], stat["cumulative_total_request_time_ns"] > 0)
first = ctx.get_last_request_id()
print(first > 0, other.get_last_request_id() > 0, ctx.correlation_id(), other.correlation_id())
try:
    ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"nothing": InferContext.ResultFormat.RAW})
except InferenceServerException:
    print(ctx.get_last_request_model_name(), ctx.get_stat()["completed_request_count"])

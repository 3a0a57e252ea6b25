from star_common import *

flags = parse()
protocol = ProtocolType.from_str(flags.protocol)
print(healthy(flags.url, protocol), protocol == ProtocolType.GRPC)
ctx = InferContext(flags.url, protocol, "simple")
row = np.arange(16, dtype=np.int32)
result = ctx.run({"INPUT0": [row], "INPUT1": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)
print(result["OUTPUT0"][0])

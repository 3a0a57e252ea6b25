from tensorrtserver.api import InferContext, ProtocolType

RAW = InferContext.ResultFormat.RAW
CLASS = InferContext.ResultFormat.CLASS
ADDER = {"OUTPUT0": InferContext.ResultFormat.RAW}
PROTOCOLS = {"http": ProtocolType.HTTP, "grpc": ProtocolType.GRPC}

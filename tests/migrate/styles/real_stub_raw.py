import sys
import grpc
import numpy as np
from tensorrtserver.api import grpc_service_pb2, grpc_service_pb2_grpc

channel = grpc.insecure_channel(sys.argv[1])
stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
request = grpc_service_pb2.InferRequest()
request.model_name = "simple"
request.model_version = -1
request.meta_data.batch_size = 1
request.meta_data.input.add(name="INPUT0")
request.meta_data.input.add(name="INPUT1")
request.meta_data.output.add(name="OUTPUT0")
row = np.arange(16, dtype=np.int32)
for _ in range(2):
    del request.raw_input[:]
    request.raw_input.extend([row.tobytes(), row.tobytes()])
    response = stub.Infer(request)
    print(np.frombuffer(response.raw_output[0], dtype=np.int32).tolist())

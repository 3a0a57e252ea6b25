import sys
import grpc
from tensorrtserver.api import *
from tensorrtserver.api import grpc_service_pb2 as pb, grpc_service_pb2_grpc, api_pb2
from tensorrtserver.api import request_status_pb2, server_status_pb2

stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel(sys.argv[1]))
request = pb.InferRequest(model_name="simple", model_version=-1)
request.meta_data.batch_size = 1
for name in ("INPUT0", "INPUT1"):
    request.meta_data.input.add(name=name, dims=[16])
output = InferRequestHeader.Output()
output.name = "OUTPUT0"
request.meta_data.output.extend([output])
request.raw_input.extend([np.arange(16, dtype=np.int32).tobytes()] * 2)
futures = [stub.Infer.future(request) for _ in range(2)]
for future in futures:
    response = future.result()
    print(response.meta_data.output[0].raw.dims, response.meta_data.batch_size)
    print(response.request_status.code, np.frombuffer(response.raw_output[0], np.int32))
again = pb.InferRequest()
again.CopyFrom(request)
print(np.frombuffer(stub.Infer(again).raw_output[0], np.int32))
request.meta_data.input[0].name = "nothing"
code = stub.Infer(request).request_status.code
print(code == request_status_pb2.RequestStatusCode.Value("INVALID_ARG"))
request.model_name = "nothing"
response = stub.Infer(request, 10)
print(response.request_status.code == request_status_pb2.UNAVAILABLE, len(response.raw_output))
response = stub.Status(pb.StatusRequest(model_name="nothing"))
print(response.request_status.code, "nothing" in response.server_status.model_status)
status = stub.Status(pb.StatusRequest()).server_status
print(status.ready_state == server_status_pb2.SERVER_READY, "simple" in status.model_status)


def requests():
    request = pb.InferRequest(model_name="sequence_sum", model_version=-1)
    request.meta_data.input.add(name="INPUT")
    request.meta_data.output.add(name="OUTPUT")
    request.meta_data.correlation_id = 7711
    for number, flags in enumerate((api_pb2.InferRequestHeader.FLAG_SEQUENCE_START, 0, 2)):
        request.meta_data.flags, request.meta_data.batch_size = flags, 1
        del request.raw_input[:]
        request.raw_input.append(np.array([number + 2], np.int32).tobytes())
        yield request


for response in stub.StreamInfer(requests()):
    print(response.request_status.code, np.frombuffer(response.raw_output[0], np.int32))
try:
    grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel("127.0.0.1:9")).Infer(request)
except grpc.RpcError as error:
    print(error.code())

import sys
import grpc
from tensorrtserver.api import grpc_service_pb2 as pb, grpc_service_pb2_grpc as pb_grpc
from tensorrtserver.api import model_config_pb2, request_status_pb2

with grpc.insecure_channel(sys.argv[1]) as channel:
    stub = pb_grpc.GRPCServiceStub(channel)
    health = stub.Health(pb.HealthRequest(mode="ready"))
    print("ready:", health.health)
    answer = stub.Status(pb.StatusRequest(model_name="classify"))
    assert answer.request_status.code == request_status_pb2.RequestStatusCode.Value("SUCCESS")
    config = answer.server_status.model_status["classify"].config
    print(config.name, config.max_batch_size)
    for one in list(config.input) + list(config.output):
        print(one.name, model_config_pb2.DataType.Name(one.data_type), list(one.dims))
    unknown = stub.Status(pb.StatusRequest(model_name="nothing_like_it"))
    print("unknown:", request_status_pb2.RequestStatusCode.Name(unknown.request_status.code) != "SUCCESS")

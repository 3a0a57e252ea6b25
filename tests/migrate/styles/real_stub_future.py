import sys
import grpc
import numpy as np
from tensorrtserver.api import grpc_service_pb2, grpc_service_pb2_grpc, api_pb2, request_status_pb2
import tensorrtserver.api.server_status_pb2 as server_status

stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel(sys.argv[1], options=[("grpc.max_receive_message_length", 1 << 28)]))
req = grpc_service_pb2.InferRequest()
req.model_name = "simple"
req.model_version = 1
req.meta_data.batch_size = 2
for name in ("INPUT0", "INPUT1"):
    inp = req.meta_data.input.add()
    inp.name = name
    inp.dims.extend([16])
for name in ("OUTPUT0", "OUTPUT1"):
    out = api_pb2.InferRequestHeader.Output()
    out.name = name
    req.meta_data.output.extend([out])
data = np.arange(32, dtype=np.int32)
req.raw_input.extend([data.tobytes(), data.tobytes()])
fut = stub.Infer.future(req)
resp = fut.result()
if resp.request_status.code != request_status_pb2.SUCCESS:
    print("error", resp.request_status.msg)
for i, raw in enumerate(resp.raw_output):
    print(resp.meta_data.output[i].name, np.frombuffer(raw, dtype=np.int32).reshape(2, -1)[:, :3].tolist())
st = stub.Status(grpc_service_pb2.StatusRequest())
print(st.server_status.ready_state == server_status.SERVER_READY, st.request_status.code)

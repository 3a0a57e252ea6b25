import os
import numpy
import tensorrtserver.api as api
import tensorrtserver.api.model_config_pb2 as mc

HOST = "TRTIS_URL" in os.environ and os.environ["TRTIS_URL"] or "localhost:8001"
KIND = {"http": api.ProtocolType.HTTP, "grpc": api.ProtocolType.GRPC}[os.environ.get("TRTIS_PROTOCOL", "grpc")]
RAW = api.InferContext.ResultFormat.RAW

def dims_of(model):
    status = api.ServerStatusContext(HOST, KIND, model).get_server_status()
    cfg = status.model_status[model].config
    return {x.name: (mc.DataType.Name(x.data_type)[5:].lower(), [d for d in x.dims]) for x in cfg.input}

print(dims_of("tensor_names"))
c = api.InferContext(HOST, KIND, "tensor_names")
v = numpy.array([1, 2, 3, 4], dtype=numpy.float32)
res = c.run({"in/put:0": [v]}, {"out/put:1": RAW, "out/put:0": RAW}, 1)
print(list(res))
print(res["out/put:0"][0], res["out/put:1"][0])

import sys
from tensorrtserver.api import *
import tensorrtserver.api.model_config_pb2 as mc

ctx = ServerStatusContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "classify", verbose=False)
status = ctx.get_server_status()
model = status.model_status["classify"]
cfg = model.config
print("platform:", cfg.platform)
for tensor in list(cfg.input) + list(cfg.output):
    print(tensor.name, mc.DataType.Name(tensor.data_type), [int(d) for d in tensor.dims])
print(cfg.output[0].label_filename, mc.ModelInput.Format.Name(cfg.input[0].format))
print(cfg.max_batch_size if cfg.max_batch_size > 0 else "no batching")

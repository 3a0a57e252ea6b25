import sys
import sender
from names import *

protocol = ProtocolType.from_str(sys.argv[2])
ctx = InferContext(sys.argv[1], protocol, "identity_int32")
raw = InferContext.ResultFormat.RAW
print(sender.fetch(ctx, [sender.start(ctx, np.array([number, 7], np.int32), raw) for number in range(3)]))
status = ServerStatusContext(sys.argv[1], protocol, "simple").get_server_status()
config = status.model_status["simple"].config
print([model_config.DataType.Name(tensor.data_type) for tensor in config.input])

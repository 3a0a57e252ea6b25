import os
import numpy as np
from tensorrtserver.api import *


def call_model(model_name, input_name, output_name, array, batch_size=1, version=-1):
    protocol = ProtocolType.from_str(os.environ["TRTIS_PROTOCOL"])
    ctx = InferContext(os.environ["TRTIS_URL"], protocol, model_name, version, verbose=False)
    input_list = [array for _ in range(batch_size)]
    result = ctx.run({input_name: input_list}, {output_name: (InferContext.ResultFormat.RAW)}, batch_size)
    return result[output_name]


print([row.tolist() for row in call_model("identity_fp32", "INPUT0", "OUTPUT0", np.ones(3, np.float32), 2)])
print(call_model("multi_version", "INPUT0", "OUTPUT0", np.ones(1, np.float32), version=2)[0].tolist())
print(call_model("identity_int64", "INPUT0", "OUTPUT0", np.ones(2, np.int64))[0].dtype)

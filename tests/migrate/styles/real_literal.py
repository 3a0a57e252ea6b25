import sys
import time

import tensorrtserver.api as trtis
import numpy as np

URL = sys.argv[1]
protocol = trtis.ProtocolType.from_str("grpc")
ctx = trtis.InferContext(URL, protocol, "identity_fp32", -1, False)

data = np.linspace(0, 1, 24).astype(np.float32)
start = time.time()
output = ctx.run({"INPUT0": [data]}, {"OUTPUT0": trtis.InferContext.ResultFormat.RAW}, 1)
print("took less than a minute:", time.time() - start < 60)
prediction = output["OUTPUT0"][0].reshape(4, 6)
print(np.argmax(prediction, axis=1), prediction.shape)

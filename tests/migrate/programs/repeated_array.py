"""throughput of big batches: the same picture eight times"""
import sys
from builtins import range
import numpy as np
from tensorrtserver.api import *

batch_size = 8
ctx = InferContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]), "image_classifier", -1, False)
img = np.zeros((3, 224, 224), np.float32); img[0, 0, 0] = 1
inputs = {"input": [img] * batch_size}
outputs = {"probabilities": (InferContext.ResultFormat.CLASS, 2)}
for i in range(2):
    results = ctx.run(inputs, outputs, batch_size)
for output_name, batch in results.items():
    print(output_name, len(batch), set(entry[0][0] for entry in batch))

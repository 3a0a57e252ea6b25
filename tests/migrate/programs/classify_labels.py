from tensorrtserver.api import *
import numpy as np
import sys

url = sys.argv[1]
protocol = ProtocolType.HTTP if sys.argv[2].lower() == 'http' else ProtocolType.GRPC

K = 3
scores = np.array([[0.1, 0.9, 0.3, 0.8, 0.0, 0.05, 0.01, 0.7, 0.02, 0.2],
                   [5, 4, 3, 2, 1, 0, -1, -2, -3, -4],
                   [0, 0.5, 0, 0, 0, 0, 0, 0, 0, 8]], dtype=np.float32)

ctx = InferContext(url, protocol, "classify")
result = ctx.run({"INPUT": list(scores)}, {"OUTPUT": (InferContext.ResultFormat.CLASS, K)}, batch_size=len(scores))
for row, classes in enumerate(result["OUTPUT"]):
    print("row %d:" % row)
    for (idx, value, label) in classes:
        print("   class %d '%s' with %.2f" % (idx, label, value))

top1 = ctx.run({"INPUT": [scores[0]]}, {"OUTPUT": (InferContext.ResultFormat.CLASS, 1)})
print("best: {} {} {}".format(*top1["OUTPUT"][0][0]))

import sys, json
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType as PT

def batches(xs, n):
    return [xs[i:i + n] for i in range(0, len(xs), n)]

def classify(xs, ctx, k=2, bs=4):
    out = []
    for b in batches(xs, bs):
        r = ctx.run({"INPUT": b}, {"OUTPUT": (InferContext.ResultFormat.CLASS, k)}, batch_size=len(b), flags=0)
        out.extend(r["OUTPUT"])
    return out

if __name__ == "__main__":
    pr = {"http": PT.HTTP, "grpc": PT.GRPC}[sys.argv[2].lower()]
    ctx = InferContext(sys.argv[1], pr, "classify", 1, verbose=False)
    xs = [np.roll(np.arange(10, dtype=np.float32), i) for i in range(6)]
    print(json.dumps(classify(xs, ctx)))

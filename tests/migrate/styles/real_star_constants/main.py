import argparse
from outputs import *

ap = argparse.ArgumentParser()
ap.add_argument("-u", default="localhost:8000")
ap.add_argument("-i", default="http")
opt = ap.parse_args()

ctx = InferContext(opt.u, ProtocolType.from_str(opt.i), "classify")
v = np.eye(10, dtype=np.float32)
print(ctx.run({"INPUT": [v[4]]}, {"OUTPUT": top(1)}, 1)["OUTPUT"])
r = ctx.run({"INPUT": list(v[:3])}, {"OUTPUT": RAW}, 3)
print([int(a.argmax()) for a in r["OUTPUT"]])

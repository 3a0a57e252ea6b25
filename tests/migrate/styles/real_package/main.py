import argparse
import numpy as np
import triton_wrap as triton

parser = argparse.ArgumentParser()
parser.add_argument("-u", "--url")
parser.add_argument("-i", "--protocol")
args = parser.parse_args()
print(triton.ready(args.url, args.protocol))
made = triton.Client({"url": args.url, "protocol": args.protocol, "model": "identity_fp32", "output": "OUTPUT0"})
print([row.tolist() for row in made.infer([np.ones(2, np.float32), np.zeros(2, np.float32)])])
made.close()

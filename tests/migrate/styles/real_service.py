"""A service with one global context and worker threads, as behind a web framework."""
import argparse
import json
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument("-u", "--url")
parser.add_argument("-i", "--protocol")
FLAGS = parser.parse_args()
CTX = InferContext(FLAGS.url, ProtocolType.from_str(FLAGS.protocol), "classify", -1, False)


def classify(body):
    values = np.asarray(json.loads(body)["values"], dtype=np.float32)
    result = CTX.run({"INPUT": [values]}, {"OUTPUT": (InferContext.ResultFormat.CLASS, 2)}, 1)
    return json.dumps([[index, label] for index, value, label in result["OUTPUT"][0]])


bodies = [json.dumps({"values": [float(n == k) + k / 100 for k in range(10)]}) for n in range(5)]
with ThreadPoolExecutor(2) as pool:
    for text in pool.map(classify, bodies):
        print(text)

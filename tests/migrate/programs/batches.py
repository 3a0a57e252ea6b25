#!/usr/bin/env python
import argparse
import numpy as np
from tensorrtserver.api import *

"""Runs a data set through a model in batches. The last batch may be smaller."""

def batches(data, size):
    for start in range(0, len(data), size):
        yield data[start:start + size]

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url')
parser.add_argument('-i', '--protocol')
parser.add_argument('-b', '--batch_size', type=int, default=4)
args = parser.parse_args()

dataset = np.arange(11 * 4, dtype=np.float32).reshape(11, 4)
context = InferContext(args.url, ProtocolType.from_str(args.protocol), 'identity_reshape')
seen = []
for number, batch in enumerate(batches(dataset, args.batch_size)):
    inputs = [row for row in batch]
    results = context.run({'INPUT0': inputs}, {'OUTPUT0': InferContext.ResultFormat.RAW}, batch_size=len(inputs))
    out = np.array(results['OUTPUT0'])
    print('batch', number, 'has', len(results['OUTPUT0']), 'rows, shape', out.shape)
    seen.append(out)
seen = np.concatenate(seen)
print('all rows came back:', bool((seen == dataset).all()))

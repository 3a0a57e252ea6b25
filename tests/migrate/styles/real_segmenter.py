# Segments pictures with a model whose sizes come from the server.
import argparse
import os
import sys

import numpy as np

import tensorrtserver.api.model_config_pb2 as model_config
from tensorrtserver.api import *


def get_model_info(url, protocol, model_name, verbose=False):
    ctx = ServerStatusContext(url, protocol, model_name, verbose)
    server_status = ctx.get_server_status()
    if model_name not in server_status.model_status:
        raise Exception("unable to get status for '" + model_name + "'")
    config = server_status.model_status[model_name].config
    input = config.input[0]
    output = config.output[0]
    for dim in output.dims:
        if dim == -1:
            raise Exception("variable-size dimension in model output not supported")
    dtype = np.float32 if input.data_type == model_config.TYPE_FP32 else np.uint8
    return input.name, output.name, tuple(input.dims), dtype, config.max_batch_size


class Segmenter:
    def __init__(self, url="localhost:8000", protocol="http", model="classify"):
        self.protocol = ProtocolType.from_str(protocol)
        self.input_name, self.output_name, self.shape, self.dtype, self.max_batch = get_model_info(
            url, self.protocol, model)
        self.context = InferContext(url, self.protocol, model, -1, False)

    def __call__(self, pictures, top=2):
        found = []
        for start in range(0, len(pictures), 2):
            batch = [p.astype(self.dtype).reshape(self.shape) for p in pictures[start:start + 2]]
            result = self.context.run(
                {self.input_name: batch},
                {self.output_name: (InferContext.ResultFormat.CLASS, top)},
                batch_size=len(batch))
            for classes in result[self.output_name]:
                found.append([(cls[0], cls[2]) for cls in classes])
        return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url", default="localhost:8000")
    parser.add_argument("-i", "--protocol", default="HTTP")
    args = parser.parse_args()
    segmenter = Segmenter(args.url, args.protocol)
    print(segmenter.shape, segmenter.max_batch, segmenter.dtype.__name__)
    for row in segmenter([np.roll(np.arange(10), n) for n in range(5)]):
        print(row)

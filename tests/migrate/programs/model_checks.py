from __future__ import print_function
import argparse
import numpy as np
import os
from builtins import range
from tensorrtserver.api import *

FLAGS = None

def parse(status, model_name, batch_size):
    server_status = status.get_server_status()
    if model_name not in server_status.model_status:
        raise Exception("unable to get status for '" + model_name + "'")
    status = server_status.model_status[model_name]
    config = status.config
    if len(config.input) != 1:
        raise Exception("expecting 1 input, got {}".format(len(config.input)))
    if len(config.output) != 1:
        raise Exception("expecting 1 output, got {}".format(len(config.output)))
    input = config.input[0]
    output = config.output[0]
    max_batch_size = config.max_batch_size
    if max_batch_size == 0:
        if batch_size != 1:
            raise Exception("batching not supported for model '" + model_name + "'")
    else:
        if batch_size > max_batch_size:
            raise Exception("expecting batch size <= {} for model {}".format(max_batch_size, model_name))
    return input.name, output.name, input.dims, input.data_type

def postprocess(results, n, batch_size):
    if len(results) != 1:
        raise Exception("expected 1 result, got {}".format(len(results)))
    batched_result = list(results.values())[0]
    if len(batched_result) != batch_size:
        raise Exception("expected {} results, got {}".format(batch_size, len(batched_result)))
    for (index, result) in enumerate(batched_result):
        print("Entry {}:".format(index))
        for cls in result:
            print("    {} ({}) = {:.4f}".format(cls[0], cls[2], cls[1]))

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False)
    parser.add_argument('-m', '--model', default='image_classifier')
    parser.add_argument('-b', '--batch-size', type=int, default=1)
    parser.add_argument('-c', '--classes', type=int, default=2)
    parser.add_argument('-u', '--url', type=str, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, default='HTTP')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)
    status_ctx = ServerStatusContext(FLAGS.url, protocol, FLAGS.model, FLAGS.verbose)
    input_name, output_name, dims, dtype = parse(status_ctx, FLAGS.model, FLAGS.batch_size)
    ctx = InferContext(FLAGS.url, protocol, FLAGS.model, -1, FLAGS.verbose)
    rng = np.random.RandomState(0)
    batch = [rng.rand(*[abs(d) for d in dims]).astype(np.float32) for _ in range(FLAGS.batch_size)]
    results = ctx.run(
        { input_name : batch },
        { output_name : (InferContext.ResultFormat.CLASS, FLAGS.classes) },
        FLAGS.batch_size)
    postprocess(results, FLAGS.classes, FLAGS.batch_size)

# Classifies "pictures"; the model says what it wants.
import argparse
import sys
import numpy as np
import tensorrtserver.api.model_config_pb2 as model_config
from tensorrtserver.api import *


def model_dtype_to_np(model_dtype):
    if model_dtype == model_config.TYPE_FP32:
        return np.float32
    elif model_dtype == model_config.TYPE_UINT8:
        return np.uint8
    return None


def parse_model(url, protocol, model_name, batch_size, verbose=False):
    ctx = ServerStatusContext(url, protocol, model_name, verbose)
    server_status = ctx.get_server_status()

    if model_name not in server_status.model_status:
        raise Exception("unable to get status for '" + model_name + "'")

    status = server_status.model_status[model_name]
    config = status.config

    if len(config.input) != 1:
        raise Exception("expecting 1 input, got {}".format(len(config.input)))
    input = config.input[0]
    output = config.output[0]
    if output.data_type != model_config.TYPE_FP32:
        raise Exception("expecting output datatype to be TYPE_FP32")
    max_batch_size = config.max_batch_size
    if max_batch_size == 0 and batch_size != 1:
        raise Exception("batching not supported")
    if input.format == model_config.ModelInput.FORMAT_NHWC:
        h, w, c = input.dims
    else:
        c, h, w = input.dims
    return input.name, output.name, c, h, w, input.format, model_dtype_to_np(input.data_type)


def postprocess(results, filenames, batch_size):
    if len(results) != 1:
        raise Exception("expected 1 result, got {}".format(len(results)))
    batched_result = list(results.values())[0]
    if len(batched_result) != batch_size:
        raise Exception("expected {} results, got {}".format(batch_size, len(batched_result)))
    for (index, result) in enumerate(batched_result):
        print("Image '{}':".format(filenames[index]))
        for cls in result:
            print("    {} ({}) = {:.3f}".format(cls[0], cls[2], cls[1]))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-m', '--model-name', type=str, required=True)
    parser.add_argument('-x', '--model-version', type=int, required=False)
    parser.add_argument('-b', '--batch-size', type=int, required=False, default=1)
    parser.add_argument('-c', '--classes', type=int, required=False, default=1)
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='HTTP')
    FLAGS = parser.parse_args()

    protocol = ProtocolType.from_str(FLAGS.protocol)
    input_name, output_name, c, h, w, format, dtype = parse_model(
        FLAGS.url, protocol, FLAGS.model_name, FLAGS.batch_size)
    print(input_name, output_name, c, h, w, model_config.ModelInput.Format.Name(format), dtype.__name__)

    ctx = InferContext(FLAGS.url, protocol, FLAGS.model_name, FLAGS.model_version)
    image_data = [np.full((c, h, w), n + 1, dtype) for n in range(FLAGS.batch_size)]
    results = ctx.run({input_name: image_data},
                      {output_name: (InferContext.ResultFormat.CLASS, FLAGS.classes)},
                      FLAGS.batch_size)
    postprocess(results, ["image%d" % n for n in range(FLAGS.batch_size)], FLAGS.batch_size)

#!/usr/bin/env python
# Image classification, as it was written in 2019: ask the server what the model looks like,
# prepare the images accordingly, print the best classes. The images are made here.

import argparse
from builtins import range
from tensorrtserver.api import *
import tensorrtserver.api.model_config_pb2 as model_config

FLAGS = None


def parse_model(url, protocol, model_name, batch_size, verbose=False):
    """Check that the model takes one image and gives one vector, and return what it wants."""
    ctx = ServerStatusContext(url, protocol, model_name, verbose)
    server_status = ctx.get_server_status()

    if model_name not in server_status.model_status:
        raise Exception("unable to get status for '" + model_name + "'")
    config = server_status.model_status[model_name].config

    if len(config.input) != 1:
        raise Exception("expecting 1 input, got {}".format(len(config.input)))
    if len(config.output) != 1:
        raise Exception("expecting 1 output, got {}".format(len(config.output)))
    if batch_size > config.max_batch_size:
        raise Exception("expecting batch size <= {} for model {}".format(
            config.max_batch_size, model_name))

    input = config.input[0]
    output = config.output[0]
    if output.data_type != model_config.TYPE_FP32:
        raise Exception("expecting output datatype to be TYPE_FP32, model '" + model_name +
                        "' output type is " + model_config.DataType.Name(output.data_type))
    if input.format != model_config.ModelInput.FORMAT_NCHW:
        raise Exception("unexpected input format " +
                        model_config.ModelInput.Format.Name(input.format))

    c, h, w = input.dims
    print("model '{}': input '{}' {} {} {}x{}x{}, output '{}'".format(
        model_name, input.name, model_config.DataType.Name(input.data_type),
        model_config.ModelInput.Format.Name(input.format), c, h, w, output.name))
    return input.name, output.name, c, h, w


def generate_image(kind, c, h, w):
    """Return a dark picture with one bright dot, whose place differs by kind."""
    img = np.zeros((c, h, w), dtype=np.float32)
    img.flat[150 * kind] = 1.0
    img.flat[150 * (kind + 1)] = 0.5
    return img


def postprocess(results, kinds):
    for (index, kind) in enumerate(kinds):
        print("Image '{}':".format(kind))
        for cls in results[index]:
            print("    {} ({}) = {}".format(cls[0], cls[2], cls[1]))
        if results[index][0][0] != kind:
            print("error: expected class {}".format(kind))
            sys.exit(1)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-m', '--model-name', type=str, required=False,
                        default='image_classifier', help='Name of model')
    parser.add_argument('-b', '--batch-size', type=int, required=False, default=2,
                        help='Batch size. Default is 2.')
    parser.add_argument('-c', '--classes', type=int, required=False, default=3,
                        help='Number of class results to report. Default is 3.')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000',
                        help='Inference server URL. Default is localhost:8000.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='HTTP',
                        help='Protocol (HTTP/gRPC) used to communicate with the server.')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)

    input_name, output_name, c, h, w = parse_model(
        FLAGS.url, protocol, FLAGS.model_name, FLAGS.batch_size, FLAGS.verbose)

    ctx = InferContext(FLAGS.url, protocol, FLAGS.model_name, -1, FLAGS.verbose)
    for start in (7, 501):
        kinds = [start + i for i in range(FLAGS.batch_size)]
        result = ctx.run(
            { input_name : [generate_image(kind, c, h, w) for kind in kinds] },
            { output_name : (InferContext.ResultFormat.CLASS, FLAGS.classes) },
            FLAGS.batch_size)
        print("Request {}, batch size {}".format(ctx.get_last_request_id(), FLAGS.batch_size))
        postprocess(result[output_name], kinds)

    print("PASS")

#!/usr/bin/env python
# Image classification with the raw gRPC stub, as it was written in 2019: one request object,
# filled in once, its raw input replaced for every batch; sent synchronously, through futures,
# or over a stream. The images are made here.

import argparse
from builtins import range
from functools import partial
import sys

import grpc
import numpy as np

from tensorrtserver.api import api_pb2
from tensorrtserver.api import grpc_service_pb2
from tensorrtserver.api import grpc_service_pb2_grpc
import tensorrtserver.api.model_config_pb2 as model_config
from tensorrtserver.api import request_status_pb2

FLAGS = None


def parse_model(status, model_name):
    """Check that the model takes one image and gives one vector, and return what it wants."""
    if model_name not in status.server_status.model_status:
        raise Exception("unable to get status for '" + model_name + "'")
    config = status.server_status.model_status[model_name].config

    if len(config.input) != 1 or len(config.output) != 1:
        raise Exception("expecting 1 input and 1 output")
    if FLAGS.batch_size > config.max_batch_size:
        raise Exception("expecting batch size <= {}".format(config.max_batch_size))

    input = config.input[0]
    output = config.output[0]
    if output.data_type != model_config.TYPE_FP32:
        raise Exception("expecting output datatype to be TYPE_FP32, model '" + model_name +
                        "' output type is " + model_config.DataType.Name(output.data_type))
    if input.format == model_config.ModelInput.FORMAT_NHWC:
        h, w, c = input.dims
    elif input.format == model_config.ModelInput.FORMAT_NCHW:
        c, h, w = input.dims
    else:
        raise Exception("unexpected input format " +
                        model_config.ModelInput.Format.Name(input.format))
    print("model '{}': input '{}' {} {}x{}x{}, output '{}'".format(
        model_name, input.name, model_config.ModelInput.Format.Name(input.format), c, h, w,
        output.name))
    return input.name, output.name, (c, h, w)


def generate_image(kind, shape):
    """Return a dark picture with one bright dot, whose place differs by kind."""
    img = np.zeros(shape, dtype=np.float32)
    img.flat[150 * kind] = 1.0
    img.flat[150 * (kind + 1)] = 0.5
    return img


def request_generator(input_name, output_name, shape):
    request = grpc_service_pb2.InferRequest()
    request.model_name = FLAGS.model_name
    request.model_version = -1
    request.meta_data.batch_size = FLAGS.batch_size
    output_message = api_pb2.InferRequestHeader.Output()
    output_message.name = output_name
    output_message.cls.count = FLAGS.classes
    request.meta_data.output.extend([output_message])
    request.meta_data.input.add(name=input_name)

    for start in (7, 501, 90):
        request.meta_data.id = start
        images = [generate_image(start + i, shape) for i in range(FLAGS.batch_size)]
        del request.raw_input[:]
        request.raw_input.extend([b"".join(img.tobytes() for img in images)])
        yield request


def postprocess(response):
    if response.request_status.code != request_status_pb2.SUCCESS:
        raise Exception(response.request_status.msg)
    start = response.meta_data.id
    print("Request {}, batch size {}".format(start, response.meta_data.batch_size))
    for (index, entry) in enumerate(response.meta_data.output[0].batch_classes):
        print("Image '{}':".format(start + index))
        for cls in entry.cls:
            print("    {} ({}) = {}".format(cls.idx, cls.label, cls.value))
        if entry.cls[0].idx != start + index:
            print("error: expected class {}".format(start + index))
            sys.exit(1)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-a', '--async', dest="async_set", action="store_true", required=False,
                        default=False, help='Use asynchronous inference API')
    parser.add_argument('--streaming', action="store_true", required=False, default=False,
                        help='Use streaming inference API')
    parser.add_argument('-m', '--model-name', type=str, required=False,
                        default='image_classifier', help='Name of model')
    parser.add_argument('-b', '--batch-size', type=int, required=False, default=2,
                        help='Batch size. Default is 2.')
    parser.add_argument('-c', '--classes', type=int, required=False, default=2,
                        help='Number of class results to report. Default is 2.')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8001',
                        help='Inference server URL. Default is localhost:8001.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='gRPC',
                        help='Ignored: this is a gRPC client.')
    FLAGS = parser.parse_args()

    channel = grpc.insecure_channel(FLAGS.url)
    grpc_stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)

    status = grpc_stub.Status(grpc_service_pb2.StatusRequest(model_name=FLAGS.model_name))
    generator = partial(request_generator, *parse_model(status, FLAGS.model_name))

    if FLAGS.streaming:
        responses = list(grpc_stub.StreamInfer(generator()))
    elif FLAGS.async_set:
        requests = [grpc_stub.Infer.future(request) for request in generator()]
        responses = [request.result() for request in requests]
    else:
        responses = [grpc_stub.Infer(request, 60.0) for request in generator()]

    for response in responses:
        postprocess(response)
    print("Sent {} requests".format(len(responses)))
    print("PASS")

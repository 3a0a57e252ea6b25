# The raw-stub image client: sync, async and streaming in one script.
import argparse
import numpy as np
import os
from builtins import range
from functools import partial

import grpc

from tensorrtserver.api import api_pb2
from tensorrtserver.api import grpc_service_pb2
from tensorrtserver.api import grpc_service_pb2_grpc
import tensorrtserver.api.model_config_pb2 as model_config

FLAGS = None


def model_dtype_to_np(model_dtype):
    if model_dtype == model_config.TYPE_BOOL:
        return np.bool_
    elif model_dtype == model_config.TYPE_FP32:
        return np.float32
    elif model_dtype == model_config.TYPE_STRING:
        return np.dtype(object)
    return None


def parse_model(status, model_name, batch_size, verbose=False):
    server_status = status.server_status
    if model_name not in server_status.model_status.keys():
        raise Exception("unable to get status for '" + model_name + "'")

    status = server_status.model_status[model_name]
    config = status.config
    if len(config.input) != 1:
        raise Exception("expecting 1 input, got {}".format(len(config.input)))
    if len(config.output) != 1:
        raise Exception("expecting 1 output, got {}".format(len(config.output)))

    input = config.input[0]
    output = config.output[0]
    if output.data_type != model_config.TYPE_FP32:
        raise Exception("expecting output datatype to be TYPE_FP32, model '" + model_name +
                        "' output type is " + model_config.DataType.Name(output.data_type))

    output_batch_dim = False
    non_one_cnt = 0
    for dim in output.dims:
        if dim == -1:
            output_batch_dim = True
        elif dim > 1:
            non_one_cnt += 1
            if non_one_cnt > 1:
                raise Exception("expecting model output to be a vector")
    max_batch_size = config.max_batch_size
    if max_batch_size == 0:
        if batch_size != 1:
            raise Exception("batching not supported for model '" + model_name + "'")
    elif batch_size > max_batch_size:
        raise Exception("expecting batch size <= {} for model {}".format(max_batch_size, model_name))

    if input.format == model_config.ModelInput.FORMAT_NHWC:
        h, w, c = input.dims
    else:
        c, h, w = input.dims
    return (input.name, output.name, c, h, w, input.format, model_dtype_to_np(input.data_type))


def preprocess(seed, format, dtype, c, h, w):
    resized = np.arange(c * h * w).reshape((c, h, w)) % (seed + 7)
    return resized.astype(dtype)


def postprocess(results, filenames, batch_size):
    if len(results) != 1:
        raise Exception("expected 1 result, got {}".format(len(results)))
    batched_result = results[0].batch_classes
    if len(batched_result) != batch_size:
        raise Exception("expected {} results, got {}".format(batch_size, len(batched_result)))
    if len(filenames) != batch_size:
        raise Exception("expected {} filenames, got {}".format(batch_size, len(filenames)))
    for (index, result) in enumerate(batched_result):
        print("Image '{}':".format(filenames[index]))
        for cls in result.cls:
            print("    {} ({}) = {}".format(cls.idx, cls.label, cls.value))


def requestGenerator(input_name, output_name, c, h, w, format, dtype, FLAGS, result_filenames):
    request = grpc_service_pb2.InferRequest()
    request.model_name = FLAGS.model_name
    if FLAGS.model_version is None:
        request.model_version = -1
    else:
        request.model_version = FLAGS.model_version
    request.meta_data.batch_size = FLAGS.batch_size
    output_message = api_pb2.InferRequestHeader.Output()
    output_message.name = output_name
    output_message.cls.count = FLAGS.classes
    request.meta_data.output.extend([output_message])

    filenames = ["first.jpg", "second.jpg", "third.jpg"]
    image_data = [preprocess(n, format, dtype, c, h, w) for n in range(len(filenames))]
    request.meta_data.input.add(name=input_name)

    image_idx = 0
    last_request = False
    while not last_request:
        input_bytes = None
        input_filenames = []
        del request.raw_input[:]
        for idx in range(FLAGS.batch_size):
            input_filenames.append(filenames[image_idx])
            if input_bytes is None:
                input_bytes = image_data[image_idx].tobytes()
            else:
                input_bytes += image_data[image_idx].tobytes()
            image_idx = (image_idx + 1) % len(image_data)
            if image_idx == 0:
                last_request = True
        request.raw_input.extend([input_bytes])
        result_filenames.append(input_filenames)
        yield request


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False)
    parser.add_argument('-a', '--async', dest="async_set", action="store_true", default=False)
    parser.add_argument('--streaming', action="store_true", required=False, default=False)
    parser.add_argument('-m', '--model-name', type=str, required=True)
    parser.add_argument('-x', '--model-version', type=int, required=False)
    parser.add_argument('-b', '--batch-size', type=int, required=False, default=1)
    parser.add_argument('-c', '--classes', type=int, required=False, default=1)
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8001')
    FLAGS = parser.parse_args()

    channel = grpc.insecure_channel(FLAGS.url)
    grpc_stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)

    request = grpc_service_pb2.StatusRequest(model_name=FLAGS.model_name)
    response = grpc_stub.Status(request)

    input_name, output_name, c, h, w, format, dtype = parse_model(
        response, FLAGS.model_name, FLAGS.batch_size, FLAGS.verbose)

    filledRequest = partial(requestGenerator, input_name, output_name, c, h, w, format, dtype, FLAGS)

    result_filenames = []
    requests = []
    responses = []
    if FLAGS.streaming:
        for response in grpc_stub.StreamInfer(filledRequest(result_filenames)):
            responses.append(response)
    else:
        for request in filledRequest(result_filenames):
            if not FLAGS.async_set:
                responses.append(grpc_stub.Infer(request))
            else:
                requests.append(grpc_stub.Infer.future(request))

    if FLAGS.async_set:
        for request in requests:
            responses.append(request.result())

    idx = 0
    for response in responses:
        print("Request {}, batch size {}".format(idx, FLAGS.batch_size))
        postprocess(response.meta_data.output, result_filenames[idx], FLAGS.batch_size)
        idx += 1

import argparse
import grpc
import numpy as np

from tensorrtserver.api import api_pb2
from tensorrtserver.api import grpc_service_pb2
from tensorrtserver.api import grpc_service_pb2_grpc
import tensorrtserver.api.model_config_pb2 as model_config


def parse_model(status, model_name):
    if model_name not in status.server_status.model_status.keys():
        raise Exception("unable to get status for '" + model_name + "'")
    config = status.server_status.model_status[model_name].config
    return config.input[0].name, config.output[0].name, list(config.input[0].dims)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', default='localhost:8001')
    parser.add_argument('-m', '--model-name', default='classify')
    parser.add_argument('-c', '--classes', type=int, default=3)
    FLAGS = parser.parse_args()

    channel = grpc.insecure_channel(FLAGS.url)
    grpc_stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)

    request = grpc_service_pb2.StatusRequest(model_name=FLAGS.model_name)
    response = grpc_stub.Status(request)
    input_name, output_name, dims = parse_model(response, FLAGS.model_name)
    print(input_name, output_name, dims)

    request = grpc_service_pb2.InferRequest()
    request.model_name = FLAGS.model_name
    request.model_version = -1
    request.meta_data.batch_size = 2
    output_message = api_pb2.InferRequestHeader.Output()
    output_message.name = output_name
    output_message.cls.count = FLAGS.classes
    request.meta_data.output.extend([output_message])
    request.meta_data.input.add(name=input_name)
    rows = np.arange(20, dtype=np.float32).reshape(2, 10)
    request.raw_input.extend([rows.tobytes()])
    response = grpc_stub.Infer(request)
    print(response.request_status.code, len(response.meta_data.output))
    for output in response.meta_data.output:
        for classes in output.batch_classes:
            for cls in classes.cls:
                print("    {} ({}) = {}".format(cls.idx, cls.label, cls.value))

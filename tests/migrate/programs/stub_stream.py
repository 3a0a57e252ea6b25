"""Image client on the raw stub: a generator of requests, streamed"""
import argparse
import grpc
import numpy as np
from tensorrtserver.api import api_pb2
from tensorrtserver.api import grpc_service_pb2
from tensorrtserver.api import grpc_service_pb2_grpc
import tensorrtserver.api.model_config_pb2 as model_config
import tensorrtserver.api.request_status_pb2 as request_status

def requests(model_name, frames):
    request = grpc_service_pb2.InferRequest()
    request.model_name = model_name
    request.model_version = -1
    request.meta_data.batch_size = 1
    output_message = api_pb2.InferRequestHeader.Output()
    output_message.name = 'OUTPUT'
    output_message.cls.count = 2
    request.meta_data.output.extend([output_message])
    request.meta_data.input.add(name='INPUT')
    for n, frame in enumerate(frames):
        request.meta_data.id = n + 1
        del request.raw_input[:]
        request.raw_input.extend([frame.tobytes()])
        yield request

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', default='localhost:8001')
    args = parser.parse_args()
    channel = grpc.insecure_channel(args.url, options=[('grpc.max_receive_message_length', 64 * 1024 * 1024)])
    stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
    status = stub.Status(grpc_service_pb2.StatusRequest(model_name='classify'))
    config = status.server_status.model_status['classify'].config
    if config.input[0].data_type != model_config.TYPE_FP32:
        raise SystemExit('not for me')
    frames = [np.roll(np.arange(10, dtype=np.float32), k) for k in range(3)]
    for response in stub.StreamInfer(requests('classify', frames)):
        if response.request_status.code != request_status.SUCCESS:
            raise SystemExit(response.request_status.msg)
        for entry in response.meta_data.output[0].batch_classes:
            print(response.meta_data.id, [(c.idx, c.label, c.value) for c in entry.cls])

if __name__ == '__main__':
    main()

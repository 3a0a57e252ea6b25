#!/usr/bin/env python
from __future__ import print_function
import argparse
import sys
import grpc
import numpy as np
from tensorrtserver.api import api_pb2
from tensorrtserver.api import grpc_service_pb2
from tensorrtserver.api import grpc_service_pb2_grpc

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-u', '--url', type=str, default='localhost:8001')
    FLAGS = parser.parse_args()

    # Create gRPC stub for communicating with the server
    channel = grpc.insecure_channel(FLAGS.url)
    grpc_stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)

    request = grpc_service_pb2.InferRequest()
    request.model_name = "simple"
    request.model_version = -1
    request.meta_data.batch_size = 1
    for name in ("OUTPUT0", "OUTPUT1"):
        output = api_pb2.InferRequestHeader.Output()
        output.name = name
        request.meta_data.output.extend([output])
    request.meta_data.input.add(name="INPUT0")
    request.meta_data.input.add(name="INPUT1")
    a = np.arange(16, dtype=np.int32)
    b = np.ones(16, dtype=np.int32)
    request.raw_input.extend([a.tobytes(), b.tobytes()])

    response = grpc_stub.Infer(request)
    print("status", response.request_status.code, response.request_status.msg)
    for i, raw in enumerate(response.raw_output):
        print(response.meta_data.output[i].name, np.frombuffer(raw, dtype=np.int32).tolist())

    del request.raw_input[:]
    request.raw_input.extend([b.tobytes(), a.tobytes()])
    future = grpc_stub.Infer.future(request)
    response = future.result()
    print(np.frombuffer(response.raw_output[1], dtype=np.int32)[-1])

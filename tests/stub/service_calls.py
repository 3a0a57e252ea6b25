"""The three ways to v1's service: raw stub, gateway over gRPC, gateway over HTTP.

Each takes a request message of v1's gRPC service and returns a response message.
"""

from __future__ import annotations

from typing import Any, Callable
from urllib.parse import quote

import grpc
from google.protobuf import text_format

from tensorrtserver.api import grpc_service_pb2 as pb
from tensorrtserver.api import grpc_service_pb2_grpc
from tests.gateway.gateway_process import Answer, Gateway

#: ``ask(rpc, request)``
Ask = Callable[[str, Any], Any]


def calls_of_stub(address: str) -> Ask:
    """Return the calls of a raw stub on a channel of its own."""
    stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel(address))
    return lambda rpc, request: getattr(stub, rpc)(request, 60)


def stub_future(address: str) -> Callable[[Any], Any]:
    """Return Infer as a future of a raw stub."""
    stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel(address))
    return lambda request: stub.Infer.future(request, 60).result(60)


def stub_stream(address: str) -> Callable[[Any], Any]:
    """Return StreamInfer of a raw stub with one request."""
    stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel(address))
    return lambda request: next(stub.StreamInfer(iter([request]), 60))


def calls_over_http(gateway: Gateway) -> Ask:
    """Return the calls over HTTP. Build response messages from the replies."""
    ways: dict[str, Callable[[Gateway, Any], Any]] = {
        "Infer": _infer,
        "Status": _status,
        "Health": _health,
        "Repository": _repository,
        "ModelControl": _control,
    }
    return lambda rpc, request: ways[rpc](gateway, request)


def _with_status(response: Any, answer: Answer) -> Any:
    assert (answer.code == 200) is (answer.status.code == 1), answer
    response.request_status.ParseFromString(answer.status.SerializeToString())
    return response


def _infer(gateway: Gateway, request: Any) -> Any:
    version = f"/{request.model_version}" if request.model_version > 0 else ""
    header = text_format.MessageToString(request.meta_data, as_one_line=True)
    path = f"{request.model_name}{version}?format=binary"
    answer = gateway.infer(path, header, b"".join(request.raw_input))
    response = _with_status(pb.InferResponse(), answer)
    text_format.Parse(answer.headers["NV-InferResponse"], response.meta_data)
    if answer.code == 200:
        place = 0
        for output in response.meta_data.output:
            size = output.raw.batch_byte_size
            response.raw_output.append(answer.body[place : place + size])
            place += size
        response.meta_data.ParseFromString(answer.body[place:])
    return response


def _status(gateway: Gateway, request: Any) -> Any:
    answer = gateway.get(f"/api/status/{request.model_name}?format=binary")
    response = _with_status(pb.StatusResponse(), answer)
    response.server_status.ParseFromString(answer.body)
    return response


def _health(gateway: Gateway, request: Any) -> Any:
    answer = gateway.get(f"/api/health/{request.mode}")
    response = _with_status(pb.HealthResponse(), answer)
    response.health = answer.code == 200
    return response


def _repository(gateway: Gateway, request: Any) -> Any:
    answer = gateway.get("/api/repository/index?format=binary")
    response = _with_status(pb.RepositoryResponse(), answer)
    response.index.ParseFromString(answer.body)
    return response


def _control(gateway: Gateway, request: Any) -> Any:
    action = "load" if request.type == pb.ModelControlRequest.LOAD else "unload"
    answer = gateway.post(f"/api/modelcontrol/{action}/{quote(request.model_name)}")
    return _with_status(pb.ModelControlResponse(), answer)

"""The server side of v1's gRPC service over a loopback connection (docs/v1-behaviour.md §9.2)."""

from __future__ import annotations

from concurrent import futures
from typing import Any, Iterator

import grpc
import pytest

from tritonclient_shim.protos import grpc_service_pb2 as messages
from tritonclient_shim.protos import retired_pb2
from tritonclient_shim.protos.grpc_service_pb2_grpc import (
    RETIRED_RPCS,
    RPCS,
    SERVICE,
    GRPCServiceServicer,
    add_GRPCServiceServicer_to_server,
)


class Echo(GRPCServiceServicer):
    """A servicer that answers Infer and StreamInfer with the request's id, and Profile."""

    def Infer(self, request: Any, context: Any) -> Any:
        """Return one reply."""
        return messages.InferResponse(meta_data={"id": request.meta_data.id})

    def StreamInfer(self, request_iterator: Any, context: Any) -> Any:
        """Yield one reply per request."""
        for request in request_iterator:
            yield self.Infer(request, context)

    def Profile(self, request: Any, context: Any) -> Any:
        """Return a success."""
        return retired_pb2.ProfileResponse(request_status={"code": "SUCCESS"})


@pytest.fixture
def channel(request: Any) -> Iterator[Any]:
    """Yield a channel to a server that runs the servicer class given as parameter."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    add_GRPCServiceServicer_to_server(request.param(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as opened:
        yield opened
    server.stop(None).wait()


def call(channel: Any, name: str, request: Any) -> Any:
    """Call the rpc ``name`` as a raw v1 client would."""
    rpc = {**RPCS, **RETIRED_RPCS}[name]
    kind = channel.stream_stream if rpc.streaming else channel.unary_unary
    method = kind(f"/{SERVICE}/{name}", rpc.request.SerializeToString, rpc.response.FromString)
    return method(request, timeout=10)


def infer_request(number: int) -> Any:
    """Return an InferRequest with an id."""
    return messages.InferRequest(meta_data={"id": number})


def test_table_agrees_with_the_descriptor() -> None:
    """Service name, rpcs, message types and streaming are those of the .proto file."""
    # docs/v1-behaviour.md §8.1
    service = messages.DESCRIPTOR.services_by_name["GRPCService"]
    assert service.full_name == SERVICE
    described = {
        method.name: (method.input_type, method.output_type, method.name == "StreamInfer")
        for method in service.methods
    }
    ours = {
        name: (rpc.request.DESCRIPTOR, rpc.response.DESCRIPTOR, rpc.streaming)
        for name, rpc in RPCS.items()
    }
    assert ours == described


@pytest.mark.parametrize("channel", [Echo], indirect=True)
def test_calls_reach_the_servicer(channel: Any) -> None:
    """The stubs reach a servicer for unary and streamed inference, and the retired Profile."""
    # docs/v1-behaviour.md §9.2
    assert call(channel, "Infer", infer_request(7)).meta_data.id == 7
    answers = call(channel, "StreamInfer", iter([infer_request(1), infer_request(2)]))
    assert [answer.meta_data.id for answer in answers] == [1, 2]
    profiled = call(channel, "Profile", retired_pb2.ProfileRequest(cmd="start"))
    assert profiled.request_status.code == 1


@pytest.mark.parametrize("name", [*RPCS, *RETIRED_RPCS])
@pytest.mark.parametrize("channel", [GRPCServiceServicer], indirect=True)
def test_what_a_servicer_lacks_is_unimplemented(channel: Any, name: str) -> None:
    """The base class answers UNIMPLEMENTED to every rpc, as generated servicers do."""
    request = {**RPCS, **RETIRED_RPCS}[name].request()
    with pytest.raises(grpc.RpcError) as caught:
        streaming = name == "StreamInfer"
        answer = call(channel, name, iter([request]) if streaming else request)
        list(answer)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED

"""v1's gRPC service through the gateway (docs/v1-behaviour.md §9.2)."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from tests.gateway.gateway_process import Gateway, code_of
from tests.gateway.grpc_requests import A, B, failing, health, simple
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import retired_pb2

pytest_plugins = ["tests.gateway.gateway_fixtures"]


@pytest.mark.smoke
def test_infer(gateway: Gateway) -> None:
    """One raw_output per output, the id echoed, success in request_status."""
    # docs/v1-behaviour.md §9.2
    response = gateway.call("Infer", simple(5))
    assert (code_of(response.request_status), response.request_status.msg) == ("SUCCESS", "")
    assert response.request_status.server_id == "inference:0"
    assert list(response.raw_output) == [(A + B).tobytes(), (A - B).tobytes()]
    assert (response.meta_data.id, response.meta_data.model_version) == (5, 1)


@pytest.mark.smoke
def test_refusal(gateway: Gateway) -> None:
    """gRPC status OK, the error in request_status, of the header only the id."""
    # docs/v1-behaviour.md §9.2
    response = gateway.call("Infer", simple(9, "nope"))
    assert code_of(response.request_status) == "UNAVAILABLE"
    assert response.request_status.msg.startswith("Request for unknown model: 'nope'")
    assert response.request_status.request_id > 0
    assert response.meta_data == type(response.meta_data)(id=9)


@pytest.mark.smoke
def test_stream_keeps_order(gateway: Gateway) -> None:
    """Responses in request order, refusals among them, then the stream ends."""
    # docs/v1-behaviour.md §9.2
    requests = [simple(1), failing(2, 7), failing(3, 0), simple(4)]
    responses = list(gateway.stream(requests))
    assert [response.meta_data.id for response in responses] == [1, 2, 3, 4]
    codes = [code_of(response.request_status) for response in responses]
    assert codes[0] == codes[2] == codes[3] == "SUCCESS" != codes[1]
    assert responses[1].request_status.msg == "the model refused value 7"
    ids = [response.request_status.request_id for response in responses]
    assert len(set(ids)) == 4


def test_stream_is_interactive(gateway: Gateway) -> None:
    """Each response comes before the next request is sent (docs/v1-behaviour.md §5)."""
    talk = gateway.talk()
    for number in (1, 2, 3):
        assert talk.ask(simple(number))[0].meta_data.id == number
    assert talk.end() == []
    assert talk.call.code() is grpc.StatusCode.OK


def test_status_and_server_id(gateway: Gateway) -> None:
    """Status of one model; the given id everywhere (docs/v1-behaviour.md §6.2)."""
    response = gateway.call("Status", pb.StatusRequest(model_name="simple"))
    assert list(response.server_status.model_status) == ["simple"]
    assert response.server_status.id == response.request_status.server_id == "inference:0"
    unknown = gateway.call("Status", pb.StatusRequest(model_name="nope")).request_status
    assert (code_of(unknown), unknown.msg) == (
        "INVALID_ARG",
        "no status available for unknown model 'nope'",
    )


@pytest.mark.parametrize(
    ("rpc", "request_", "message"),
    [
        ("Health", pb.HealthRequest(mode="well"), "unknown health mode 'well'"),
        ("Repository", pb.RepositoryRequest(), "request type is not specified"),
    ],
)
def test_odd_requests(gateway: Gateway, rpc: str, request_: Any, message: str) -> None:
    """What asks for nothing known is UNKNOWN (docs/v1-behaviour.md §9.2)."""
    status = gateway.call(rpc, request_).request_status
    assert (code_of(status), status.msg) == ("UNKNOWN", message)


@pytest.mark.smoke
def test_control_and_repository(gateway: Gateway) -> None:
    """Load, unload and the index; Profile of 1.6 is answered as well."""
    # docs/v1-behaviour.md §6.3, §6.4
    for kind in (pb.ModelControlRequest.LOAD, pb.ModelControlRequest.UNLOAD):
        request = pb.ModelControlRequest(model_name="spare", type=kind)
        assert code_of(gateway.call("ModelControl", request).request_status) == "SUCCESS"
    gateway.wait_until_unloaded("spare")
    index = gateway.call("Repository", pb.RepositoryRequest(index=True)).index
    assert "spare" in [model.name for model in index.models]
    profile = gateway.call("Profile", retired_pb2.ProfileRequest(cmd="start"))
    assert code_of(profile.request_status) == "SUCCESS"


@pytest.mark.parametrize("mode", ["live", "ready"])
def test_health_and_ids(gateway: Gateway, mode: str) -> None:
    """Health{mode} answers; HTTP and gRPC share one counter of request ids."""
    # docs/v1-behaviour.md §4.5, §6.1
    first = gateway.get(f"/api/health/{mode}").status.request_id
    response = gateway.call("Health", health(mode))
    assert response.health and code_of(response.request_status) == "SUCCESS"
    assert response.request_status.request_id > first

"""Through the gateway: reasons of states, and versions whose names are no numbers."""

from __future__ import annotations

from typing import Any, Iterator

import pytest
from google.protobuf import text_format

from tests.gateway.gateway_process import Gateway, code_of
from tests.gateway.grpc_requests import BODY, SIMPLE, simple
from tests.named_versions import NamedVersions
from tritonclient_shim.protos import api_pb2, server_status_pb2
from tritonclient_shim.protos import grpc_service_pb2 as pb

pytest_plugins = ["tests.gateway.gateway_fixtures"]

HEADER = f'{SIMPLE} output {{ name: "OUTPUT0" }}'


def statuses(gateway: Gateway) -> dict[str, Any]:
    """Return the status of ``simple`` in every form that the gateway has."""
    text = gateway.get("/api/status/simple").body.decode()
    binary = gateway.get("/api/status/simple?format=binary").body
    request = pb.StatusRequest(model_name="simple")
    forms = {
        "text": text_format.Parse(text, server_status_pb2.ServerStatus()),
        "binary": server_status_pb2.ServerStatus.FromString(binary),
        "grpc": gateway.call("Status", request).server_status,
    }
    return {form: status.model_status["simple"].version_status for form, status in forms.items()}


def test_reason_is_set(gateway: Gateway) -> None:
    """ready_state_reason: set in every form, though there is no reason."""
    # docs/v1-behaviour.md §6.2
    for form, versions in statuses(gateway).items():
        assert versions[1].HasField("ready_state_reason"), form
        assert versions[1].ready_state_reason.message == ""
    assert b"ready_state_reason {" in gateway.get("/api/status/simple").body
    assert b'"ready_state_reason": {}' in gateway.get("/api/status/simple?format=json").body


@pytest.fixture(scope="module")
def named(behind: Any) -> Iterator[Gateway]:
    """Start a gateway to a server whose version is ``v2.0``."""
    with NamedVersions(behind) as relay:
        gateway = Gateway("--triton-grpc", relay.grpc)
        yield gateway
        gateway.stop()


def test_inference(named: Gateway) -> None:
    """A result comes over either of v1's protocols, in either form; its version is -1."""
    for form, read in (("", False), ("?format=binary", True)):
        answer = named.infer(f"simple{form}", HEADER, BODY)
        assert (answer.code, code_of(answer.status)) == (200, "SUCCESS")
        header = api_pb2.InferResponseHeader()
        if read:
            header.ParseFromString(answer.body[64:])
        else:
            text_format.Parse(answer.body[64:].decode(), header)
        assert header.model_version == -1
    for response in (named.call("Infer", simple()), next(named.stream([simple()]))):
        assert code_of(response.request_status) == "SUCCESS"
        assert response.meta_data.model_version == -1


def test_status(named: Gateway) -> None:
    """The version is in the status in every form, under -1."""
    for form, versions in statuses(named).items():
        states = {number: version.ready_state for number, version in versions.items()}
        assert states == {-1: server_status_pb2.MODEL_READY}, form

"""``--emulate``: texts and fields of one release of v1 (docs/v1-behaviour.md §3.4, §6.5)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import Gateway, code_of
from tests.gateway.grpc_requests import BODY, SIMPLE, simple
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import server_status_pb2

CONTROL = "/api/sharedmemorycontrol"
OLD, NEW = (
    "Inference request for unknown model 'nope'",
    "Request for unknown model: 'nope' is not found",
)
BLOCK, REGION = (f"shared memory {word} 'twice' already in manager" for word in ("block", "region"))


class Expected(NamedTuple):
    """The differences of a release; ``release`` is None for a gateway without the option."""

    release: str | None
    unknown: str
    twice: str
    version: str | None  # of the server; None for Triton's own
    camel: bool  # names of fields in JSON


RELEASES = [
    Expected(None, NEW, REGION, None, False),
    Expected("1.11", OLD, BLOCK, "1.11.0", True),
    Expected("1.12", OLD, REGION, "1.12.0", True),
    Expected("1.15", NEW, REGION, "1.15.0", False),
]


@pytest.fixture(scope="module", params=RELEASES, ids=lambda expected: expected.release or "default")
def pair(request: Any, behind: TritonServer) -> Iterator[tuple[Gateway, Expected]]:
    """Start a gateway. Yield the gateway, and the differences of its release."""
    expected: Expected = request.param
    option = ("--emulate", expected.release) if expected.release else ()
    running = Gateway("--triton-grpc", behind.grpc, "--server-id", "inference:0", *option)
    yield running, expected
    running.stop()


def test_unknown_models(pair: tuple[Gateway, Expected]) -> None:
    """An unknown model gets the release's text, over HTTP, over gRPC and on a stream."""
    gateway, expected = pair
    request = simple(1, "nope")
    statuses = [
        gateway.infer("nope", SIMPLE, BODY).status,
        gateway.call("Infer", request).request_status,
        next(iter(gateway.stream([request]))).request_status,
    ]
    assert [status.msg for status in statuses] == [expected.unknown] * 3
    assert {code_of(status) for status in statuses} == {"UNAVAILABLE"}
    missing = gateway.call("Infer", simple(1, version=9)).request_status.msg
    of_version = "Request for unknown model: 'simple' version 9 is not found"
    assert missing == (
        of_version if expected.unknown == NEW else "Inference request for unknown model 'simple'"
    )


def test_names_that_are_taken(pair: tuple[Gateway, Expected]) -> None:
    """A region that is registered twice gets the release's text, over HTTP and gRPC."""
    gateway, expected = pair
    place = Path(f"/dev/shm/gateway-release-{os.getpid()}")
    place.write_bytes(bytes(64))
    path = f"{CONTROL}/register/twice//{place.name}/0/64"
    request = pb.SharedMemoryControlRequest()
    request.register.name, request.register.byte_size = "twice", 64
    request.register.system_shared_memory.shared_memory_key = f"/{place.name}"
    try:
        assert gateway.post(path).code == 200
        again = gateway.call("SharedMemoryControl", request).request_status
        assert gateway.post(path).status.msg == again.msg == expected.twice
    finally:
        gateway.post(f"{CONTROL}/unregister/twice")
        place.unlink()


def test_server_status(pair: tuple[Gateway, Expected], behind: TritonServer) -> None:
    """A status has the release's version, and the release's field names in JSON."""
    gateway, expected = pair
    gateway.infer("simple", SIMPLE, BODY)
    names = json.loads(gateway.get("/api/status/simple?format=json").body)
    assert ("modelStatus" in names, "model_status" in names) == (expected.camel, not expected.camel)
    binary = gateway.get("/api/status/simple?format=binary").body
    over_grpc = gateway.call("Status", pb.StatusRequest(model_name="simple")).server_status
    for status in (server_status_pb2.ServerStatus.FromString(binary), over_grpc):
        assert status.id == "inference:0"
        assert (status.version == expected.version) or not expected.version
    if expected.version is None:
        assert over_grpc.version.startswith("2.")

"""Shared-memory control through the gateway, on both protocols (docs/v1-behaviour.md §6.5, §9)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Iterator

import numpy as np
import pytest
from google.protobuf import text_format

from testbed import TritonServer
from tests.gateway.gateway_process import Gateway, ask, code_of
from tests.gateway.grpc_requests import BODY, SIMPLE, simple
from tests.generation_marks import not_on
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import server_status_pb2

CONTROL = "/api/sharedmemorycontrol"


@pytest.fixture
def key(gateway: Gateway) -> Iterator[str]:
    """Yield the key of an object with INPUT0 and INPUT1 of ``simple`` and room for an output."""
    name = f"gateway-test-{os.getpid()}"
    place = Path("/dev/shm") / name
    place.write_bytes(np.arange(16, dtype=np.int32).tobytes() * 2 + bytes(64))
    yield f"/{name}"
    gateway.post(f"{CONTROL}/unregisterall")
    place.unlink()


def regions_for_clients(response: pb.SharedMemoryControlResponse) -> list[str]:
    """Return the names that a genuine client reads: it parses Status as a SharedMemoryStatus."""
    content = response.shared_memory_status.SerializeToString()
    status = server_status_pb2.SharedMemoryStatus.FromString(content)
    return [region.name for region in status.shared_memory_region]


def test_over_http(gateway: Gateway, key: str) -> None:
    """A key with its slash is registered, used, listed and unregistered."""
    # docs/v1-behaviour.md §9.1
    path = f"{CONTROL}/register/all/{key}/0/192?format=binary"
    assert (gateway.post(path).code, gateway.post(path).code) == (200, 400)
    header = " ".join(
        f'input {{ name: "INPUT{n}" dims: 16 '
        f'shared_memory {{ name: "all" offset: {64 * n} byte_size: 64 }} }}'
        for n in (0, 1)
    )
    header += ' output { name: "OUTPUT0" shared_memory { name: "all" offset: 128 byte_size: 64 } }'
    answer = gateway.infer("simple", f"batch_size: 1 {header}", b"")
    assert answer.code == 200 and answer.body.startswith(b"model_name")
    output = np.frombuffer(Path(f"/dev/shm{key}").read_bytes()[128:], np.int32)
    assert output.tolist() == list(range(0, 32, 2))
    listed = gateway.get(f"{CONTROL}/status?format=binary")
    (region,) = server_status_pb2.SharedMemoryStatus.FromString(listed.body).shared_memory_region
    assert (region.name, region.byte_size) == ("all", 192)
    assert region.system_shared_memory.shared_memory_key == key
    assert b"shared_memory_region {\n" in gateway.get(f"{CONTROL}/status").body
    gone = gateway.post(f"{CONTROL}/unregister/all")
    assert (gone.code, gone.body, code_of(gone.status)) == (200, b"", "SUCCESS")
    assert gateway.get(f"{CONTROL}/status").body == b""


def test_over_grpc(gateway: Gateway, key: str) -> None:
    """The status lists regions in the .proto's field and in the field that genuine clients read."""
    # docs/v1-behaviour.md §9.2
    request = pb.SharedMemoryControlRequest()
    request.register.name, request.register.byte_size = "all", 192
    request.register.system_shared_memory.shared_memory_key = key
    assert code_of(gateway.call("SharedMemoryControl", request).request_status) == "SUCCESS"
    again = gateway.call("SharedMemoryControl", request).request_status
    assert code_of(again) == "ALREADY_EXISTS"
    assert again.msg == "shared memory region 'all' already in manager"
    listed = gateway.call("SharedMemoryControl", pb.SharedMemoryControlRequest(status={}))
    assert regions_for_clients(listed) == ["all"]
    assert [r.name for r in listed.shared_memory_status.shared_memory_region] == ["all"]
    everything = pb.SharedMemoryControlRequest(unregister_all={})
    assert code_of(gateway.call("SharedMemoryControl", everything).request_status) == "SUCCESS"
    empty = gateway.call("SharedMemoryControl", pb.SharedMemoryControlRequest(status={}))
    assert regions_for_clients(empty) == []
    without_kind = pb.SharedMemoryControlRequest(register={"name": "r"})
    assert gateway.call("SharedMemoryControl", without_kind).request_status.msg == (
        "failed to register shared memory region: 'r', improperly formed request."
    )


def test_cuda_register(gateway: Gateway) -> None:
    """The body is the 64-byte handle; a server without GPU refuses it, with NV-Status."""
    answer = gateway.post(f"{CONTROL}/cudaregister/r/64/0", bytes(64))
    assert answer.code == 400 and answer.status.msg
    too_long = gateway.post(f"{CONTROL}/cudaregister/r/64/0", bytes(65))
    assert code_of(too_long.status) == "INVALID_ARG" and "65 bytes" in too_long.status.msg


@pytest.mark.parametrize("place", [f"offset: {2**64 - 1} byte_size: 64", f"byte_size: {2**63}"])
def test_numbers_that_no_region_has(gateway: Gateway, place: str) -> None:
    """An offset or a size beyond signed 64-bit numbers is refused as too large."""
    shm = f'shared_memory {{ name: "r" {place} }}'
    header = " ".join(f'input {{ name: "INPUT{n}" dims: 16 {shm} }}' for n in (0, 1))
    answer = gateway.infer("simple", f'batch_size: 1 {header} output {{ name: "OUTPUT0" }}', b"")
    assert code_of(answer.status) == "INVALID_ARG"
    assert answer.status.msg == "Invalid offset + byte size for shared memory region: 'r'"


def test_offset_of_a_region(behind: TritonServer, gateway: Gateway, key: str) -> None:
    """An offset is refused with advice: Triton before 2.61 would read at twice the offset."""
    # docs/v2-mapping.md §8
    pages = [np.full(1024, float(page), np.float32) for page in range(3)]
    Path(f"/dev/shm{key}").write_bytes(b"".join(page.tobytes() for page in pages))
    version = json.loads(ask(behind.http, "GET", "/v2").body)["version"]
    refused = gateway.post(f"{CONTROL}/register/paged/{key}/4096/4096").status
    assert code_of(refused) == "UNSUPPORTED"
    assert refused.msg == (
        "cannot register shared memory region 'paged' at offset 4096: this server, "
        f"Triton {version}, would read and write at twice that offset. "
        "Register the object from its beginning, with offset 0 and byte size 8192, and add 4096 "
        "to the offset of each input and output in it; or use Triton 2.61 or later"
    )
    assert gateway.post(f"{CONTROL}/register/paged/{key}/0/8192").code == 200
    header = (
        'batch_size: 1 input { name: "INPUT0" dims: 16 '
        'shared_memory { name: "paged" offset: 4096 byte_size: 64 } } output { name: "OUTPUT0" }'
    )
    body = gateway.infer("identity_fp32", header, b"").body
    assert np.frombuffer(body[:64], np.float32).tolist() == [1.0] * 16


def test_an_output_announced_beyond_its_region(gateway: Gateway, key: str) -> None:
    """An output whose region is smaller than announced gets what the region has."""
    # docs/v1-behaviour.md §4.3: v1's server refused only a result that did not fit
    assert gateway.post(f"{CONTROL}/register/all/{key}/0/192").code == 200
    request = simple()
    del request.meta_data.output[1]
    region = request.meta_data.output[0].shared_memory
    region.name, region.offset, region.byte_size = "all", 128, 4096
    assert code_of(gateway.call("Infer", request).request_status) == "SUCCESS"
    text = f"{SIMPLE} output {{ {text_format.MessageToString(request.meta_data.output[0])} }}"
    assert gateway.infer("simple", " ".join(text.split()), BODY).code == 200
    (streamed,) = gateway.stream([request])
    assert code_of(streamed.request_status) == "SUCCESS"
    output = np.frombuffer(Path(f"/dev/shm{key}").read_bytes()[128:], np.int32)
    assert output.tolist() == list(range(1, 17))


@not_on("2.33", "destroys its own memory when the region of an output is too small")
def test_an_output_that_does_not_fit(gateway: Gateway, key: str) -> None:
    """An output that is larger than the rest of its region is refused."""
    # docs/v1-behaviour.md §4.3
    assert gateway.post(f"{CONTROL}/register/all/{key}/0/192").code == 200
    request = simple()
    del request.meta_data.output[1]
    region = request.meta_data.output[0].shared_memory
    region.name, region.offset, region.byte_size = "all", 160, 4096
    refused = gateway.call("Infer", request).request_status
    assert "should be at least 64 bytes" in refused.msg

"""Requests and results of the raw stub beyond test_service.py (docs/v1-behaviour.md §9.2)."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import grpc_service_pb2
from tensorrtserver.api import request_status_pb2 as codes
from tests.stub.stub_cases import (
    FP32_4,
    SECONDS,
    SUCCESS,
    infer_request,
    is_sum,
    outputs_of,
    simple_request,
)

pb: Any = grpc_service_pb2  # the modules that it imports are not in its stubs


def test_dims_may_have_the_batch(stub: Any) -> None:
    """Dims may start with the batch size, for fixed and for variable dims."""
    # docs/v1-behaviour.md §F.7
    request = simple_request(5, batch=3)
    for item in request.meta_data.input:
        item.dims.extend((3, 16))
    response = stub.Infer(request, SECONDS)
    assert is_sum(response, 5, batch=3)
    assert [list(output.raw.dims) for output in outputs_of(response)] == [[16], [16]]
    data = np.arange(6, dtype=np.float32)
    request = infer_request("identity_2d", {"INPUT0": data}, ["OUTPUT0"])
    request.meta_data.input[0].dims.extend((1, 2, 3))
    response = stub.Infer(request)
    assert list(outputs_of(response)[0].raw.dims) == [2, 3]
    assert response.raw_output[0] == data.tobytes()


def test_request_may_be_changed_and_sent_again(stub: Any) -> None:
    """A request may be changed between two calls: ``del raw_input[:]`` and ``dims[0] = n``."""
    # docs/v1-behaviour.md §F.7
    request = infer_request("identity_fp32", {"INPUT0": FP32_4}, ["OUTPUT0"])
    request.meta_data.input[0].dims.append(4)
    assert stub.Infer(request).raw_output == [FP32_4.tobytes()]
    del request.raw_input[:]
    request.raw_input.append(FP32_4[:2].tobytes())
    request.meta_data.input[0].dims[0] = 2
    assert stub.Infer(request).raw_output == [FP32_4[:2].tobytes()]


def test_negative_version(stub: Any) -> None:
    """A negative version is an unknown version, which v1's server checked first."""
    # docs/v1-behaviour.md §9.3
    for request in (simple_request(), infer_request("simple", {})):
        request.model_version = -2
        status = stub.Infer(request).request_status
        assert status.code == codes.UNAVAILABLE
        assert status.msg == "Request for unknown model: 'simple' version -2 is not found"


KEY = "/stub_region_of_the_tests"


def outcome(response: Any) -> tuple[Any, str]:
    """Return code and message of a response that has a server id."""
    status = response.request_status
    assert status.server_id
    assert status.request_id > 0
    return status.code, status.msg


@pytest.mark.parametrize("command", ["start", "stop"])
def test_retired_profile(stub: Any, command: str) -> None:
    """Profile, dropped with 1.7, succeeds and says that nothing is profiled."""
    # docs/v1-behaviour.md §8.2
    response = stub.Profile(pb.ProfileRequest(cmd=command), SECONDS)
    code, message = outcome(response)
    assert code == SUCCESS
    assert "nothing is profiled" in message
    refused = stub.Profile(pb.ProfileRequest(cmd="pause"))
    assert outcome(refused) == (codes.UNKNOWN, "unknown profile command 'pause'")


@pytest.fixture
def region(stub: Any) -> Iterator[Any]:
    """Yield a region of 192 bytes: room for three tensors of ``simple``."""
    handle = shm.create_shared_memory_region("whole", KEY, 192)
    yield handle
    for name in ("in put", "second"):
        control(stub, unregister={"name": name})
    shm.destroy_shared_memory_region(handle)


def control(stub: Any, **kind: Any) -> Any:
    """Send one SharedMemoryControl."""
    return stub.SharedMemoryControl(pb.SharedMemoryControlRequest(**kind), SECONDS)


def register(stub: Any, name: str, key: str = KEY, size: int = 192) -> tuple[Any, str]:
    """Register a system region."""
    identifier = {"shared_memory_key": key, "offset": 0}
    wanted = {"name": name, "system_shared_memory": identifier, "byte_size": size}
    return outcome(control(stub, register=wanted))


def listed(stub: Any) -> dict[str, Any]:
    """Return the regions that the server knows, by name."""
    response = control(stub, status={})
    assert outcome(response) == (SUCCESS, "")
    assert response.HasField("shared_memory_status")
    return {region.name: region for region in response.shared_memory_status.shared_memory_region}


def test_regions(stub: Any, region: Any) -> None:
    """The stub registers, lists and unregisters regions by name, with two names on one key."""
    # docs/v1-behaviour.md §6.5
    assert register(stub, "in put") == (SUCCESS, "")
    again = "shared memory region 'in put' already in manager"
    assert register(stub, "in put") == (codes.ALREADY_EXISTS, again)
    assert register(stub, "second") == (SUCCESS, "")
    result = listed(stub)["in put"]
    assert (result.byte_size, result.system_shared_memory.offset) == (192, 0)
    assert result.system_shared_memory.shared_memory_key.lstrip("/") == KEY.lstrip("/")
    missing = "Unable to open shared memory region: '/no_such_key'"
    assert register(stub, "third", "/no_such_key") == (codes.INTERNAL, missing)
    assert outcome(control(stub, unregister={"name": "in put"})) == (SUCCESS, "")
    assert outcome(control(stub, unregister={"name": "in put"})) == (SUCCESS, "")
    assert "in put" not in listed(stub)
    assert "second" in listed(stub)


@pytest.mark.parametrize("announced", [64, 4096])
@pytest.mark.parametrize("way", ["call", "stream"])
def test_inference_in_shared_memory(stub: Any, region: Any, way: str, announced: int) -> None:
    """Tensors in regions have no ``raw_input`` and an empty ``raw_output``.

    An output may be announced larger than its region.
    """
    # docs/v1-behaviour.md §9.2
    shm.set_shared_memory_region(region, [np.arange(16, dtype=np.int32)])
    assert register(stub, "in put") == (SUCCESS, "")
    request = simple_request(1)
    del request.raw_input[0]
    where = {"name": "in put", "offset": 0, "byte_size": 64}
    request.meta_data.input[0].shared_memory.MergeFrom(pb.api__pb2.InferSharedMemory(**where))
    target = pb.api__pb2.InferSharedMemory(name="in put", offset=64, byte_size=announced)
    request.meta_data.output[1].shared_memory.MergeFrom(target)
    responses = {
        "call": stub.Infer,
        "stream": lambda message: next(stub.StreamInfer(iter([message]))),
    }
    response = responses[way](request)
    assert response.request_status.code == SUCCESS, response.request_status
    assert [len(raw) for raw in response.raw_output] == [64, 0]
    assert np.frombuffer(response.raw_output[0], np.int32).tolist() == list(range(1, 17))
    assert response.meta_data.output[1].raw.batch_byte_size == 64
    with open("/dev/shm" + KEY, "rb") as memory:
        written = np.frombuffer(memory.read()[64:128], np.int32)
    assert written.tolist() == list(range(-1, 15))

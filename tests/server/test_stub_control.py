"""Status, Health, control, repository, shared memory and Profile of the raw stub
(docs/v1-behaviour.md §6, §9.2).
"""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import grpc_service_pb2, model_config_pb2, server_status_pb2
from tensorrtserver.api import request_status_pb2 as codes
from tests.server.stub_cases import SECONDS, SUCCESS, infer_request, simple_request, stub_at
from tritonclient_shim.service.control import with_regions_for_v1_clients

pb: Any = grpc_service_pb2  # Profile, and the modules that it imports, are not in its stubs
KEY = "/stub_region_of_the_tests"


@pytest.fixture(scope="module")
def stub(triton: Any) -> Iterator[Any]:
    """A stub on the session's server."""
    with stub_at(triton.grpc) as made:
        yield made


def outcome(response: Any) -> tuple[Any, str]:
    """Code and message of a response that came from a server with an id."""
    status = response.request_status
    assert status.server_id
    assert status.request_id > 0
    return status.code, status.msg


# --------------------------------------------------------------------------- status, health


@pytest.mark.smoke
def test_status_of_one_model(stub: Any) -> None:
    """Configuration and state of the model asked for, and of no other."""
    # docs/v1-behaviour.md §6.2
    response = stub.Status(pb.StatusRequest(model_name="image_classifier"), SECONDS)
    assert outcome(response) == (codes.SUCCESS, "")
    status = response.server_status
    assert (status.id, status.ready_state) == (
        response.request_status.server_id,
        server_status_pb2.SERVER_READY,
    )
    assert list(status.model_status) == ["image_classifier"]
    model = status.model_status["image_classifier"]
    assert model.config.input[0].format == model_config_pb2.ModelInput.FORMAT_NCHW
    assert model.version_status[1].ready_state == server_status_pb2.MODEL_READY
    again = pb.StatusResponse.FromString(response.SerializeToString())
    assert again == response


def test_status_of_all_models(stub: Any) -> None:
    """No name asks for every tracked model; time since start grows (docs/v1-behaviour.md §6.2)."""
    first, second = (stub.Status(pb.StatusRequest()).server_status for _ in range(2))
    assert {"simple", "classify", "sequence_sum"} <= set(first.model_status)
    assert 0 < first.uptime_ns < second.uptime_ns


def test_status_counts_requests(stub: Any) -> None:
    """An inference is counted in the statistics of its model (docs/v1-behaviour.md §6.2)."""

    def count() -> int:
        status = stub.Status(pb.StatusRequest(model_name="simple")).server_status
        return int(status.model_status["simple"].version_status[1].model_inference_count)

    before = count()
    stub.Infer(simple_request(batch=3))
    assert count() == before + 3


def test_status_of_an_unknown_model(stub: Any) -> None:
    """INVALID_ARG, and an empty status (docs/v1-behaviour.md §9.3)."""
    response = stub.Status(pb.StatusRequest(model_name="nope"))
    refusal = (codes.INVALID_ARG, "no status available for unknown model 'nope'")
    assert outcome(response) == refusal
    assert not response.server_status.model_status


def test_health(stub: Any) -> None:
    """Live and ready; another mode is UNKNOWN (docs/v1-behaviour.md §6.1, §9.2)."""
    for mode in ("live", "ready"):
        response = stub.Health(pb.HealthRequest(mode=mode), SECONDS)
        assert (outcome(response), response.health) == ((SUCCESS, ""), True)
    response = stub.Health(pb.HealthRequest(mode="well"))
    assert outcome(response) == (codes.UNKNOWN, "unknown health mode 'well'")
    assert response.health is False


# ------------------------------------------------------------------- repository and control


def test_repository(stub: Any) -> None:
    """All names, sorted, loaded or not; no request type is UNKNOWN."""
    # docs/v1-behaviour.md §6.3, §9.2
    response = stub.Repository(pb.RepositoryRequest(index=True))
    names = [model.name for model in response.index.models]
    assert outcome(response) == (SUCCESS, "")
    assert {"simple", "spare", "broken"} <= set(names)
    assert names == sorted(names)
    refused = stub.Repository(pb.RepositoryRequest())
    assert outcome(refused) == (codes.UNKNOWN, "request type is not specified")


@pytest.mark.smoke
def test_load_and_unload(start_triton: Any) -> None:
    """A load ends when the model answers; failures are INTERNAL with v1's text."""
    # docs/v1-behaviour.md §6.4
    server = start_triton(models=["simple"])
    load, unload = pb.ModelControlRequest.LOAD, pb.ModelControlRequest.UNLOAD

    request = infer_request("spare", {"INPUT0": np.ones(1, np.float32)}, ["OUTPUT0"])
    with stub_at(server.grpc) as stub:

        def control(name: str, kind: Any) -> tuple[Any, str]:
            return outcome(stub.ModelControl(pb.ModelControlRequest(model_name=name, type=kind)))

        assert stub.Infer(request).request_status.code == codes.UNAVAILABLE
        assert control("spare", load) == (SUCCESS, "")
        assert stub.Infer(request).request_status.code == SUCCESS
        assert control("spare", unload) == (SUCCESS, "")
        gone = stub.Infer(request).request_status
        assert (gone.code, gone.msg[:41]) == (
            codes.UNAVAILABLE,
            "Request for unknown model: 'spare' has no",
        )
        assert control("nope", unload) == (SUCCESS, "")
        unknown = "failed to load 'nope', no version is available"
        assert control("nope", load) == (codes.INTERNAL, unknown)
        broken = "failed to load 'broken', versions that are not available: 1"
        assert control("broken", load) == (codes.INTERNAL, broken)


def test_control_that_is_not_allowed(start_triton: Any) -> None:
    """load and unload at a server without explicit control are UNAVAILABLE."""
    # docs/v1-behaviour.md §9.3
    server = start_triton(models=["simple"], model_control_mode="none")
    with stub_at(server.grpc) as stub:
        response = stub.ModelControl(pb.ModelControlRequest(model_name="simple", type=1))
    text = "explicit model load / unload is not allowed if polling is enabled"
    assert outcome(response) == (codes.UNAVAILABLE, text)


@pytest.mark.parametrize("command", ["start", "stop"])
def test_retired_profile(stub: Any, command: str) -> None:
    """Dropped with 1.7; it succeeds, and says that nothing is profiled."""
    # docs/v1-behaviour.md §8.2
    response = stub.Profile(pb.ProfileRequest(cmd=command), SECONDS)
    code, message = outcome(response)
    assert code == SUCCESS
    assert "nothing is profiled" in message
    refused = stub.Profile(pb.ProfileRequest(cmd="pause"))
    assert outcome(refused) == (codes.UNKNOWN, "unknown profile command 'pause'")


# ----------------------------------------------------------------------------- shared memory


@pytest.fixture
def region(stub: Any) -> Iterator[Any]:
    """A region of 192 bytes: room for three tensors of ``simple``."""
    handle = shm.create_shared_memory_region("whole", KEY, 192)
    yield handle
    for name in ("in put", "second"):
        control(stub, unregister={"name": name})
    shm.destroy_shared_memory_region(handle)


def control(stub: Any, **kind: Any) -> Any:
    """One SharedMemoryControl."""
    return stub.SharedMemoryControl(pb.SharedMemoryControlRequest(**kind), SECONDS)


def register(stub: Any, name: str, key: str = KEY, size: int = 192) -> tuple[Any, str]:
    """Register a system region."""
    identifier = {"shared_memory_key": key, "offset": 0}
    wanted = {"name": name, "system_shared_memory": identifier, "byte_size": size}
    return outcome(control(stub, register=wanted))


def listed(stub: Any) -> dict[str, Any]:
    """The regions that the server knows, by name."""
    response = control(stub, status={})
    assert outcome(response) == (SUCCESS, "")
    assert response.HasField("shared_memory_status")
    return {one.name: one for one in response.shared_memory_status.shared_memory_region}


def test_regions(stub: Any, region: Any) -> None:
    """register, list and unregister by name; two names on one key; unknown ones."""
    # docs/v1-behaviour.md §6.5
    assert register(stub, "in put") == (SUCCESS, "")
    again = "shared memory region 'in put' already in manager"
    assert register(stub, "in put") == (codes.ALREADY_EXISTS, again)
    assert register(stub, "second") == (SUCCESS, "")
    found = listed(stub)["in put"]
    assert (found.byte_size, found.system_shared_memory.offset) == (192, 0)
    assert found.system_shared_memory.shared_memory_key.lstrip("/") == KEY.lstrip("/")
    missing = "Unable to open shared memory region: '/no_such_key'"
    assert register(stub, "third", "/no_such_key") == (codes.INTERNAL, missing)
    assert outcome(control(stub, unregister={"name": "in put"})) == (SUCCESS, "")
    assert outcome(control(stub, unregister={"name": "in put"})) == (SUCCESS, "")
    assert "in put" not in listed(stub)
    assert "second" in listed(stub)


@pytest.mark.parametrize("way", ["call", "stream"])
def test_inference_in_shared_memory(stub: Any, region: Any, way: str) -> None:
    """Tensors in regions have no ``raw_input`` and an empty ``raw_output``."""
    # docs/v1-behaviour.md §9.2
    shm.set_shared_memory_region(region, [np.arange(16, dtype=np.int32)])
    assert register(stub, "in put") == (SUCCESS, "")
    request = simple_request(1)
    del request.raw_input[0]
    where = {"name": "in put", "offset": 0, "byte_size": 64}
    request.meta_data.input[0].shared_memory.MergeFrom(pb.api__pb2.InferSharedMemory(**where))
    there = pb.api__pb2.InferSharedMemory(name="in put", offset=64, byte_size=64)
    request.meta_data.output[1].shared_memory.MergeFrom(there)
    responses = {"call": stub.Infer, "stream": lambda one: next(stub.StreamInfer(iter([one])))}
    response = responses[way](request)
    assert response.request_status.code == SUCCESS, response.request_status
    assert [len(raw) for raw in response.raw_output] == [64, 0]
    assert np.frombuffer(response.raw_output[0], np.int32).tolist() == list(range(1, 17))
    assert response.meta_data.output[1].raw.batch_byte_size == 64
    with open("/dev/shm" + KEY, "rb") as memory:
        written = np.frombuffer(memory.read()[64:128], np.int32)
    assert written.tolist() == list(range(-1, 15))


def test_region_that_is_not_registered(stub: Any) -> None:
    """An unknown region is NOT_FOUND, on a stream as well (docs/v1-behaviour.md §9.3)."""
    request = simple_request(1)
    del request.raw_input[0]
    request.meta_data.input[0].shared_memory.name = "no where"
    request.meta_data.input[0].shared_memory.byte_size = 64
    for response in (stub.Infer(request), next(stub.StreamInfer(iter([request])))):
        code, message = outcome(response)
        assert (code, message) == (
            codes.NOT_FOUND,
            "Unable to find shared memory region: 'no where'",
        )


def test_odd_shared_memory_requests(stub: Any) -> None:
    """Nothing asked for is UNKNOWN; a register without identifier is refused."""
    # docs/v1-behaviour.md §9.2
    unknown = "unknown sharedmemorycontrol request type"
    assert outcome(control(stub)) == (codes.UNKNOWN, unknown)
    improper = "failed to register shared memory region: 'x', improperly formed request."
    assert outcome(control(stub, register={"name": "x"})) == (codes.INVALID_ARG, improper)


def test_cuda_region_without_gpu(stub: Any) -> None:
    """A CUDA handle reaches the server, which refuses it here (docs/v1-behaviour.md §6.5)."""
    cuda = {"raw_handle": bytes(64), "device_id": 0}
    wanted = {"name": "gpu", "cuda_shared_memory": cuda, "byte_size": 64}
    code, message = outcome(control(stub, register=wanted))
    assert code in (codes.INVALID_ARG, codes.INTERNAL, codes.UNSUPPORTED)
    assert "failed to register" in message
    assert "gpu" not in listed(stub)


def test_regions_for_genuine_clients(stub: Any, region: Any) -> None:
    """Genuine clients parse the status as SharedMemoryStatus, regions as field 2."""
    # docs/v1-behaviour.md §9.2
    assert register(stub, "in put") == (SUCCESS, "")
    sent = with_regions_for_v1_clients(control(stub, status={}))
    received = pb.SharedMemoryControlResponse.FromString(sent.SerializeToString())
    status = received.shared_memory_status
    assert "in put" in [one.name for one in status.shared_memory_region]
    genuine = server_status_pb2.SharedMemoryStatus.FromString(status.SerializeToString())
    assert "in put" in [one.name for one in genuine.shared_memory_region]

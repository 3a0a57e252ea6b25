"""SharedMemoryControlContext: registering, names, regions in use (docs/v1-behaviour.md §6.5)."""

from __future__ import annotations

import ctypes
import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    SharedMemoryControlContext,
)
from testbed.environment import chosen
from tests.generation_marks import not_on
from tests.shared_memory.shm_cases import Regions, name_of, refused
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import RegisteredRegion
from tritonclient_shim.shm.cuda import CudaRegion
from tritonclient_shim.shm.regions import add, lookup
from tritonclient_shim.translate.status import to_regions

NO_STATUS = "sharedmemorycontrol request did not return status"


RAMP = np.arange(16, dtype=np.int32)


RAW = InferContext.ResultFormat.RAW


#: Names that a v2 server alone would store differently over HTTP, or not at all.
AWKWARD = ["a b", "a/b", "/", "é/日本", "100%", "a%20b", "a%2Fb", "it's", 'a"b\\c', "a?b#c"]


@pytest.fixture
def control(regions: Regions) -> SharedMemoryControlContext:
    return regions.control


def double(url: str, protocol: int, handle: Any) -> list[int]:
    """Return the output of ``simple`` for a region of INT32[16] as both inputs."""
    with InferContext(url, protocol, "simple") as context:
        results = context.run({"INPUT0": handle, "INPUT1": handle}, {"OUTPUT0": RAW})
    return results["OUTPUT0"][0].tolist()  # type: ignore[no-any-return]


@pytest.mark.smoke
def test_register_and_unregister(regions: Regions, control: SharedMemoryControlContext) -> None:
    """register and unregister return None, leave the last id 0, and change the status."""
    # docs/v1-behaviour.md §6
    handle = regions.create(64, "plain")
    assert control.register(handle) is None
    assert control.get_last_request_id() == 0
    assert "plain" in regions.listed()
    assert control.unregister(handle) is None
    assert control.get_last_request_id() == 0
    assert "plain" not in regions.listed()


def test_status_of_cuda_regions() -> None:
    """SharedMemoryStatus of a CUDA region has the device id, device 0 included."""
    # docs/v1-behaviour.md §6.5
    result = (RegisteredRegion("g", 8, device_id=0, kind="cuda"), RegisteredRegion("f", 4, "/k", 2))
    system, cuda = to_regions(result).shared_memory_region
    assert (system.name, system.byte_size, system.system_shared_memory.offset) == ("f", 4, 2)
    assert cuda.WhichOneof("shared_memory_types") == "cuda_shared_memory"
    assert (cuda.name, cuda.byte_size, cuda.cuda_shared_memory.device_id) == ("g", 8, 0)


@pytest.fixture
def cuda_handle() -> ctypes.c_void_p:
    """Return the handle of a CUDA region whose IPC handle no driver knows."""
    return add(CudaRegion("gpu", 64, device_id=0, raw_handle=bytes(range(64))))


def test_cuda_register_is_refused(control: SharedMemoryControlContext, cuda_handle: Any) -> None:
    """cuda_register sends its request, and a server without CUDA memory refuses it."""
    # docs/v1-behaviour.md §6.5
    newest = "failed to register shared memory region: invalid args"
    driver = "failed to open CUDA IPC handle: CUDA driver version is insufficient"
    reasons = {
        "2.33": f"failed to register CUDA shared memory region 'gpu': {driver} for CUDA runtime "
        "version"
    }
    with refused(reasons.get(chosen().triton, newest)):
        control.cuda_register(cuda_handle)
    assert control.get_last_request_id() is None
    assert control.unregister(cuda_handle) is None


def test_each_kind_has_its_call(
    regions: Regions, control: SharedMemoryControlContext, cuda_handle: Any
) -> None:
    """The client refuses cuda_register with a system handle, and register with a CUDA handle."""
    # docs/v1-behaviour.md §6.5
    handle = regions.create(64, "system one")
    with refused(
        "the handle is of system shared memory region 'system one', but a cuda region is needed; "
        "use the module that created it",
        server_id="",
    ):
        control.cuda_register(handle)
    with refused(
        "the handle is of cuda shared memory region 'gpu', but a system region is needed; "
        "use the module that created it",
        server_id="",
    ):
        control.register(cuda_handle)


@pytest.mark.parametrize("name", AWKWARD)
def test_any_name(triton: Any, regions: Regions, protocol: int, name: str) -> None:
    """Names that v2's HTTP endpoint mangles work, also over the other protocol."""
    handle = regions.holding(RAMP, name=name)
    other = 1 - protocol
    for way in (protocol, other):
        assert double(triton.url(way), way, handle) == (2 * RAMP).tolist()
    with SharedMemoryControlContext(triton.url(other), other) as control:
        assert name in [r.name for r in control.get_shared_memory_status().shared_memory_region]
        with refused(f"shared memory region '{name}' already in manager"):
            control.register(handle)
        control.unregister(handle)
    assert name not in regions.listed()


def test_empty_name(regions: Regions, protocol: int) -> None:
    """Over HTTP an empty region name is refused, because the name was part of the URL."""
    # docs/v1-behaviour.md §6.5
    handle = regions.create(64)
    nameless = shm.create_shared_memory_region("", lookup(handle).key, 64)
    if protocol == 0:
        with refused(NO_STATUS, server_id=""):
            regions.control.register(nameless)
    regions.control.unregister(nameless)
    assert "" not in regions.listed()


def keep_in_use(context: InferContext, regions: Regions, handle: Any, seconds: float) -> int:
    """Run ``slow`` on a region. Return the request's id once the server uses the region."""
    shm.set_shared_memory_region(handle, [np.array([seconds], np.float32)])
    for attempt in range(1, 10):
        request_id: int = context.async_run({"INPUT0": handle}, {"OUTPUT0": RAW})
        threading.Event().wait(0.05 * attempt)  # nothing shows that a request has arrived
        try:
            regions.control._ctx.backend.unregister(name_of(handle))  # type: ignore[union-attr]
        except ServerError as error:
            assert "currently in use" in error.message
            return request_id
        regions.control.register(handle)  # too early
        with suppress(InferenceServerException):
            context.get_async_run_results(request_id, True)
    raise AssertionError("the request never came to use the region")


@not_on("2.33", "unregisters a region although a request uses it, as v1 did")
@pytest.mark.parametrize("everything", [False, True])
def test_unregister_in_use(regions: Regions, url: str, protocol: int, everything: bool) -> None:
    """unregister waits while a region is in use, because v1 unregistered such regions at once."""
    # docs/v1-behaviour.md §6.5
    handle = regions.empty(4)
    with InferContext(url, protocol, "slow") as context:
        request_id = keep_in_use(context, regions, handle, 0.5)
        if everything:
            regions.control.unregister_all()
        else:
            regions.control.unregister(handle)
        assert name_of(handle) not in regions.listed()
        results = context.get_async_run_results(request_id, True)
    assert results is not None and results["OUTPUT0"][0].tolist() == [0.5]


@not_on("2.33", "unregisters a region although a request uses it, as v1 did")
def test_unregister_does_not_wait_for_ever(
    regions: Regions, url: str, protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A region that stays in use gives the server's refusal (docs/v2-mapping.md §8)."""
    handle = regions.empty(4)
    with InferContext(url, protocol, "slow") as context:
        request_id = keep_in_use(context, regions, handle, 3.0)
        monkeypatch.setattr("tritonclient_shim.session.control.PATIENCE", 0.0)
        name = name_of(handle)
        with refused(f"Cannot unregister shared memory region '{name}', it is currently in use."):
            regions.control.unregister(handle)
        monkeypatch.undo()
        context.get_async_run_results(request_id, True)


@pytest.fixture
def context(url: str, protocol: int) -> Any:
    with InferContext(url, protocol, "simple") as opened:
        yield opened


def total(context: InferContext, left: Any, right: Any) -> list[int]:
    """Return the sum of two regions of INT32[16]."""
    results = context.run({"INPUT0": left, "INPUT1": right}, {"OUTPUT0": RAW})
    return results["OUTPUT0"][0].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("dropped", [0, 1])
def test_unregister_one_of_two(regions: Regions, context: InferContext, dropped: int) -> None:
    """After one name of a key is unregistered, the other name works, and the first can return."""
    key = regions.new_key()
    handles = [regions.create(64, name, key) for name in ("first", "second")]
    for handle in handles:
        regions.control.register(handle)
    shm.set_shared_memory_region(handles[0], [RAMP])
    kept = handles[1 - dropped]
    for _ in range(2):
        regions.control.unregister(handles[dropped])
        assert name_of(handles[dropped]) not in regions.listed()
        assert total(context, kept, kept) == (2 * RAMP).tolist()
        regions.control.register(handles[dropped])
        assert total(context, handles[dropped], kept) == (2 * RAMP).tolist()


def test_key_with_a_new_object(regions: Regions, context: InferContext) -> None:
    """A key that was destroyed and created again refers to the new memory."""
    key = regions.new_key()
    old = regions.create(64, "old", key)
    regions.control.register(old)
    shm.set_shared_memory_region(old, [RAMP])
    shm.destroy_shared_memory_region(old)
    new = regions.create(64, "new", key)
    regions.control.register(new)
    shm.set_shared_memory_region(new, [RAMP + 100])
    assert total(context, new, new) == (2 * RAMP + 200).tolist()
    assert total(context, old, old) == (2 * RAMP).tolist()


def test_names_from_many_threads(regions: Regions, url: str, protocol: int) -> None:
    """Several threads and contexts can register one key at once, and all names work."""
    key = regions.new_key()
    handles = [regions.create(64, f"thread {number}", key) for number in range(8)]
    shm.set_shared_memory_region(handles[0], [RAMP])

    def register(handle: Any) -> None:
        with SharedMemoryControlContext(url, protocol) as control:
            control.register(handle)

    threads = [threading.Thread(target=register, args=(handle,)) for handle in handles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name for name in regions.listed() if name.startswith("thread")} == {
        name_of(handle) for handle in handles
    }
    with InferContext(url, protocol, "simple") as context:
        for handle in handles:
            assert total(context, handle, handle) == (2 * RAMP).tolist()

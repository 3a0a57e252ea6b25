"""SharedMemoryControlContext (docs/v1-behaviour.md §6.5); what all contexts share is in
test_contexts.py.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    SharedMemoryControlContext,
    SharedMemoryStatus,
)
from testbed.generations import chosen
from tests.server.odd_servers import foreign_server
from tests.server.shm_cases import Regions, name_of, refused
from tritonclient_shim.core.model import RegisteredRegion
from tritonclient_shim.shm import handle_table
from tritonclient_shim.shm.region import CUDA, Region
from tritonclient_shim.translate.regions import to_status

pytest_plugins = ["tests.server.shm_fixtures"]

NO_STATUS = "sharedmemorycontrol request did not return status"
RAMP = np.arange(16, dtype=np.int32)
RAW = InferContext.ResultFormat.RAW
#: Names that a v2 server alone would store differently over HTTP, or not at all.
AWKWARD = ["a b", "a/b", "/", "é/日本", "100%", "a%20b", "a%2Fb", "it's", 'a"b\\c', "a?b#c"]


@pytest.fixture
def control(regions: Regions) -> SharedMemoryControlContext:
    return regions.control


def double(url: str, protocol: int, handle: Any) -> list[int]:
    """What model ``simple`` adds a region of INT32[16] to, itself."""
    with InferContext(url, protocol, "simple") as context:
        results = context.run({"INPUT0": handle, "INPUT1": handle}, {"OUTPUT0": RAW})
    return results["OUTPUT0"][0].tolist()  # type: ignore[no-any-return]


# --------------------------------------------------------------- register and unregister


@pytest.mark.smoke
def test_register_and_unregister(regions: Regions, control: SharedMemoryControlContext) -> None:
    """register and unregister both return None, leave last id 0, and show in the status."""
    # docs/v1-behaviour.md §6
    handle = regions.create(64, "plain")
    assert control.register(handle) is None
    assert control.get_last_request_id() == 0
    assert "plain" in regions.listed()
    assert control.unregister(handle) is None
    assert control.get_last_request_id() == 0
    assert "plain" not in regions.listed()


def test_foreign_success(regions: Regions) -> None:
    """HTTP without a status: 200 of somebody else's is no success, v1's text."""
    # docs/v1-behaviour.md §6.5
    handle = regions.create(64, "foreign")
    with foreign_server(200) as foreign:
        control = SharedMemoryControlContext(foreign.url, 0)
        for call in (lambda: control.register(handle), control.unregister_all):
            with pytest.raises(InferenceServerException) as caught:
                call()
            assert str(caught.value) == f"[ 0] {NO_STATUS}"


@pytest.mark.smoke
def test_register_twice(regions: Regions, control: SharedMemoryControlContext) -> None:
    """register twice, same name: the server's refusal, for the same key and for another."""
    # docs/v1-behaviour.md §6.5
    handle = regions.empty(64, "twice")
    for again in (handle, regions.create(64, "twice")):
        with refused("shared memory region 'twice' already in manager"):
            control.register(again)
        assert control.get_last_request_id() is None


def test_register_without_key(regions: Regions, control: SharedMemoryControlContext) -> None:
    """register, no such key: the server cannot open a destroyed region."""
    # docs/v1-behaviour.md §6.5
    key = regions.new_key()
    handle = regions.create(64, "gone", key)
    shm.destroy_shared_memory_region(handle)
    with refused(f"Unable to open shared memory region: '{key}'"):
        control.register(handle)
    assert control.get_last_request_id() is None


def test_unregister_unknown(regions: Regions, control: SharedMemoryControlContext) -> None:
    """unregister unknown: success, twice as well, and nothing else is unregistered."""
    # docs/v1-behaviour.md §6.5
    kept = regions.empty(64)
    handle = regions.create(64, "never registered")
    control.unregister(handle)
    control.unregister(handle)
    assert control.get_last_request_id() == 0
    assert name_of(kept) in regions.listed()


def test_unregister_all(regions: Regions, control: SharedMemoryControlContext) -> None:
    """unregister_all: nothing is left, last id 0; no region at all is no error."""
    # docs/v1-behaviour.md §6
    for name in ("one", "two"):
        regions.empty(64, name)
    for _ in range(2):
        assert control.unregister_all() is None
        assert control.get_last_request_id() == 0
        assert regions.listed() == {}


@pytest.mark.parametrize("key_form", ["{}", "//{}"])
def test_http_wants_one_leading_slash(
    regions: Regions, control: SharedMemoryControlContext, protocol: int, key_form: str
) -> None:
    """HTTP register: other keys than ``/key`` are a client error; gRPC takes them."""
    # docs/v1-behaviour.md §6.5
    handle = regions.create(64, "bare", key_form.format(regions.new_key()[1:]))
    if protocol == 1:
        control.register(handle)
        assert "bare" in regions.listed()
        return
    with refused(NO_STATUS, server_id=""):
        control.register(handle)
    assert control.get_last_request_id() is None


def test_handles_are_checked(regions: Regions, control: SharedMemoryControlContext) -> None:
    """None or a null handle crashed v1: an error, as for whatever else is no handle."""
    # docs/v1-behaviour.md §6.5
    block = ctypes.create_string_buffer(64)
    foreign = ctypes.c_void_p(ctypes.addressof(block))
    for call in (control.register, control.cuda_register, control.unregister):
        for handle in (None, ctypes.c_void_p(None), foreign, "name", 64):
            with pytest.raises(InferenceServerException, match="shared memory handle") as caught:
                call(handle)  # type: ignore[arg-type]
            assert str(caught.value).startswith("[ 0] ")
            assert control.get_last_request_id() is None


# ------------------------------------------------------------------------------- status


def test_status(regions: Regions, control: SharedMemoryControlContext) -> None:
    """SharedMemoryStatus: name, size, key and offset of each region, sorted by name."""
    # docs/v1-behaviour.md §6.5
    keys = {name: regions.new_key() for name in ("b", "a")}
    for name, key in keys.items():
        control.register(regions.create(len(name) * 128, name, key))
    status = control.get_shared_memory_status()
    assert type(status) is SharedMemoryStatus
    assert control.get_last_request_id() > 0  # type: ignore[operator]
    ours = [region for region in status.shared_memory_region if region.name in keys]
    assert [region.name for region in ours] == ["a", "b"]
    for region in ours:
        assert region.WhichOneof("shared_memory_types") == "system_shared_memory"
        assert region.system_shared_memory.shared_memory_key == keys[region.name]
        assert (region.system_shared_memory.offset, region.byte_size) == (0, 128)


def test_status_of_cuda_regions() -> None:
    """SharedMemoryStatus: a CUDA region tells its device instead, device 0 included."""
    # docs/v1-behaviour.md §6.5
    found = (RegisteredRegion("g", 8, device_id=0, kind="cuda"), RegisteredRegion("f", 4, "/k", 2))
    system, cuda = to_status(found).shared_memory_region
    assert (system.name, system.byte_size, system.system_shared_memory.offset) == ("f", 4, 2)
    assert cuda.WhichOneof("shared_memory_types") == "cuda_shared_memory"
    assert (cuda.name, cuda.byte_size, cuda.cuda_shared_memory.device_id) == ("g", 8, 0)


def test_verbose_status(regions: Regions, url: str, protocol: int, capfd: Any) -> None:
    """Verbose: the status on stdout over HTTP, on stderr over gRPC; nothing else."""
    # docs/v1-behaviour.md §10.2
    with SharedMemoryControlContext(url, protocol, True) as control:
        handle = regions.create(64)
        control.register(handle)
        status = control.get_shared_memory_status()
        control.unregister(handle)
    printed = capfd.readouterr()
    text = f"{status}\n"  # and a blank line
    expected = (text, "") if protocol == 0 else ("", text)
    assert (printed.out, printed.err) == expected
    assert name_of(handle) in str(status)


# --------------------------------------------------------------------------------- CUDA


class NoMemory:
    """Stands where a GPU's memory would be."""

    def read(self, offset: int, count: int) -> bytes:
        raise NotImplementedError

    def write(self, views: Any) -> None:
        raise NotImplementedError

    def destroy(self) -> None:
        raise NotImplementedError


@pytest.fixture
def cuda_handle() -> ctypes.c_void_p:
    """The handle of a CUDA region whose IPC handle no driver knows."""
    region = Region(CUDA, "gpu", 64, NoMemory(), device_id=0, raw_handle=bytes(range(64)))
    return handle_table.add(region)


def test_cuda_register_is_refused(control: SharedMemoryControlContext, cuda_handle: Any) -> None:
    """cuda_register: the request reaches the server, which has no such memory."""
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
    """cuda_register with a system handle, and the reverse: said by the client."""
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


# -------------------------------------------------------------------------------- names


@pytest.mark.parametrize("name", AWKWARD)
def test_any_name(triton: Any, regions: Regions, protocol: int, name: str) -> None:
    """Names that v2's HTTP endpoint mangles work, over the other protocol as well."""
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
    """Over HTTP the name was a part of the URL that could not be empty."""
    # docs/v1-behaviour.md §6.5
    handle = regions.create(64)
    nameless = shm.create_shared_memory_region("", handle_table.lookup(handle).key, 64)
    if protocol == 0:
        with refused(NO_STATUS, server_id=""):
            regions.control.register(nameless)
    regions.control.unregister(nameless)
    assert "" not in regions.listed()

"""Several names on one shared-memory key, which a v2 server alone gets wrong
(docs/v1-behaviour.md §6.5).
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tritonclient.http

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import InferContext, SharedMemoryControlContext
from tests.server.shm_cases import Regions, name_of

pytest_plugins = ["tests.server.shm_fixtures"]

RAW = InferContext.ResultFormat.RAW
RAMP = np.arange(16, dtype=np.int32)


@pytest.fixture
def context(url: str, protocol: int) -> Any:
    with InferContext(url, protocol, "simple") as opened:
        yield opened


def total(context: InferContext, left: Any, right: Any) -> list[int]:
    """The sum of two regions of INT32[16]."""
    results = context.run({"INPUT0": left, "INPUT1": right}, {"OUTPUT0": RAW})
    return results["OUTPUT0"][0].tolist()  # type: ignore[no-any-return]


def test_two_names_on_one_key(regions: Regions, context: InferContext) -> None:
    """Both names reach the same memory, and the status shows both with the user's key."""
    key = regions.new_key()
    first, second = (regions.create(64, name, key) for name in ("first", "second"))
    regions.control.register(first)
    regions.control.register(second)
    assert regions.listed()["first"] == regions.listed()["second"] == (key, 0, 64)
    shm.set_shared_memory_region(first, [RAMP])
    assert total(context, first, second) == (2 * RAMP).tolist()
    context.run({"INPUT0": first, "INPUT1": first}, {"OUTPUT0": (RAW, second)})
    assert total(context, first, [RAMP * 0]) == (2 * RAMP).tolist()


@pytest.mark.parametrize("dropped", [0, 1])
def test_unregister_one_of_two(regions: Regions, context: InferContext, dropped: int) -> None:
    """The name that is left goes on working, and the other can be registered again."""
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


def test_second_name_is_larger(regions: Regions, context: InferContext) -> None:
    """A second name may cover more of the key than the first: each has its own size."""
    key = regions.new_key()
    small = regions.create(64, "small", key)
    regions.control.register(small)
    large = regions.create(8192, "large", key)  # as in v1, creating a key again resizes it
    regions.control.register(large)
    assert regions.listed()["small"] == (key, 0, 64)
    assert regions.listed()["large"] == (key, 0, 8192)
    shm.set_shared_memory_region(large, [RAMP])
    context.run({"INPUT0": small, "INPUT1": small}, {"OUTPUT0": (RAW, large)})
    assert total(context, small, [RAMP]) == (3 * RAMP).tolist()


def test_key_with_a_new_object(regions: Regions, context: InferContext) -> None:
    """A key that was destroyed and created again is the new memory, not the registered old."""
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


def test_key_registered_by_others(triton: Any, regions: Regions, context: InferContext) -> None:
    """Names that another process or protocol has put on the key do not matter."""
    key = regions.new_key()
    mine = regions.create(64, "mine", key)
    with tritonclient.http.InferenceServerClient(triton.http) as theirs:
        theirs.register_system_shared_memory("theirs", key, 64)
        regions.control.register(mine)
        shm.set_shared_memory_region(mine, [RAMP])
        assert total(context, mine, mine) == (2 * RAMP).tolist()
        theirs.unregister_system_shared_memory("theirs")
    assert total(context, mine, mine) == (2 * RAMP).tolist()


def test_names_after_unregister_all(regions: Regions, context: InferContext) -> None:
    """Nothing is remembered of names that were unregistered."""
    key = regions.new_key()
    handles = [regions.create(64, name, key) for name in ("first", "second", "third")]
    for _ in range(2):
        for handle in handles:
            regions.control.register(handle)
        assert total(context, handles[0], handles[2]) == [0] * 16
        regions.control.unregister_all()
        assert regions.listed() == {}


def test_names_from_many_threads(regions: Regions, url: str, protocol: int) -> None:
    """Registering one key from several threads and contexts at once gives working names."""
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

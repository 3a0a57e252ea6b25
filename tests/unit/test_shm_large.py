"""Large system shared-memory tensors, which are copied through a mapping (shm/system.py)."""

from __future__ import annotations

from typing import Iterator

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tests.unit.shm_regions import fresh_keys, run_python
from tritonclient_shim.shm import handle_table
from tritonclient_shim.shm.system import MAPPING_THRESHOLD


@pytest.fixture
def key() -> Iterator[str]:
    """A key that no other test or process uses."""
    with fresh_keys() as make:
        yield make()


def test_large_tensors_arrive_whole_and_are_copies(key: str) -> None:
    """set, entries follow each other; what is read is private (docs/v1-behaviour.md §7.1, §4.3)."""
    handle = shm.create_shared_memory_region("r", key, 2 * MAPPING_THRESHOLD + 10)
    first = np.arange(MAPPING_THRESHOLD, dtype=np.uint8)
    shm.set_shared_memory_region(handle, [first, first[::-1], np.full(10, 7, np.uint8)])
    region = handle_table.lookup(handle)
    read = np.frombuffer(region.read(0, 2 * MAPPING_THRESHOLD + 10), np.uint8)
    assert np.array_equal(read[:MAPPING_THRESHOLD], first)
    assert np.array_equal(read[MAPPING_THRESHOLD:-10], first[::-1])
    shm.set_shared_memory_region(handle, [np.zeros(MAPPING_THRESHOLD, np.uint8)])
    assert np.array_equal(read[:MAPPING_THRESHOLD], first)


def test_a_region_shrunk_after_a_large_copy_raises(key: str) -> None:
    """A mapping outlives a shrinking of its object: touching it would be SIGBUS, so nobody does."""
    program = f"""
        import numpy as np
        import tensorrtserver.shared_memory as shm
        from tritonclient_shim.shm import handle_table
        large = np.ones({2 * MAPPING_THRESHOLD}, np.uint8)
        handle = shm.create_shared_memory_region("r", {key!r}, {2 * MAPPING_THRESHOLD})
        shm.set_shared_memory_region(handle, [large])
        handle_table.lookup(handle).read(0, {2 * MAPPING_THRESHOLD})
        shm.create_shared_memory_region("smaller", {key!r}, 100)
        for use in (lambda: shm.set_shared_memory_region(handle, [large]),
                    lambda: handle_table.lookup(handle).read(0, {2 * MAPPING_THRESHOLD})):
            try:
                use()
            except Exception as error:
                print(type(error).__name__, "made it smaller" in str(error))
    """
    assert run_python(program).stdout.split() == [
        "SharedMemoryException",
        "True",
        "RegionError",
        "True",
    ]

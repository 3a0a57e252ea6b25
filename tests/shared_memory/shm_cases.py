"""Shared-memory regions that clean up after themselves, for the tests with a server."""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager, suppress
from typing import Any, Iterator

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import InferenceServerException, SharedMemoryControlContext
from tritonclient_shim.shm import regions

_numbers = itertools.count()


class Regions:
    """System regions of one test, all removed at its end."""

    def __init__(self, url: str, protocol: int) -> None:
        self.control = SharedMemoryControlContext(url, protocol)
        self._handles: list[Any] = []

    def new_key(self) -> str:
        """Return a key that no other test or process uses."""
        return f"/shim_server_test_{os.getpid()}_{next(_numbers)}"

    def create(self, byte_size: int, name: str = "", key: str = "") -> Any:
        """Return the handle of a region, not registered."""
        key = key or self.new_key()
        self._handles.append(shm.create_shared_memory_region(name or key[1:], key, byte_size))
        return self._handles[-1]

    def empty(self, byte_size: int, name: str = "") -> Any:
        """Return the handle of a registered region."""
        handle = self.create(byte_size, name)
        self.control.register(handle)
        return handle

    def holding(self, *arrays: np.ndarray[Any, Any], spare: int = 0, name: str = "") -> Any:
        """Return the handle of a registered region: these arrays, then ``spare`` bytes of 0xff."""
        filler = np.full(spare, 0xFF, np.uint8)
        handle = self.empty(sum(array.nbytes for array in (*arrays, filler)), name)
        shm.set_shared_memory_region(handle, [*arrays, filler])
        return handle

    def listed(self) -> dict[str, tuple[str, int, int]]:
        """Return key, offset and size of each registered system region, by name."""
        return {
            region.name: (
                region.system_shared_memory.shared_memory_key,
                region.system_shared_memory.offset,
                region.byte_size,
            )
            for region in self.control.get_shared_memory_status().shared_memory_region
        }

    def remove(self) -> None:
        """Unregister and destroy every region of this test."""
        for handle in self._handles:
            self.control.unregister(handle)
            with suppress(shm.SharedMemoryException):
                shm.destroy_shared_memory_region(handle)
        self.control.close()


def name_of(handle: Any) -> str:
    """Return the name of a handle's region."""
    return regions.lookup(handle).name


def contents(handle: Any, dtype: Any, count: int) -> np.ndarray[Any, Any]:
    """Return the bytes at the beginning of a region."""
    return np.frombuffer(regions.lookup(handle).read(0, count * np.dtype(dtype).itemsize), dtype)


@contextmanager
def refused(message: str, server_id: str = "triton") -> Iterator[None]:
    """Check that the block raises exactly this message. A ``server`` of '' means the client."""
    with pytest.raises(InferenceServerException) as caught:
        yield
    assert (caught.value.message(), caught.value.server_id()) == (message, server_id)
    assert (caught.value.request_id() > 0) is bool(server_id)

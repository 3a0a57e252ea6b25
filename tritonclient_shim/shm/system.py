"""System shared memory: POSIX objects in ``/dev/shm`` with v1's semantics
(docs/v1-behaviour.md §7.1).

As in v1, creating a key that exists resizes the object, and may make it smaller. Destroying only
unlinks the key: every handle, and every server that has mapped the object, goes on working. An
object outlives its process unless some process destroys it; a process that only attached to it
deletes nothing (Python's resource tracker is not involved).

Unlike in v1, an object that was made smaller and a full ``/dev/shm`` (64 MiB in a default
container) are errors; a process that only used a mapping would die of SIGBUS. Small tensors are
copied through the object's file descriptor. Large ones are copied through a mapping, which is twice
as fast, after the object's size has been checked and its memory been reserved. Only another process
that makes the object smaller during this copy still causes SIGBUS. Both ways use the same page
cache, so a server sees the same bytes. The cost is one open descriptor per live handle, and two for
a handle that large tensors were copied through.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any, Sequence

import numpy as np

from tritonclient_shim.concurrency import forks
from tritonclient_shim.shm.regions import SYSTEM, Region, RegionError

_ByteArray = Any  # ndarray of uint8

#: v1's error codes and texts (docs/v1-behaviour.md §7.1).
NO_DESCRIPTOR = -2
NO_SIZE = -3
NO_MAPPING = -4
NO_UNLINK = -5
MESSAGES = {
    NO_DESCRIPTOR: "unable to get shared memory descriptor",
    NO_SIZE: "unable to initialize the size",
    NO_MAPPING: "unable to read/mmap the shared memory region",
    NO_UNLINK: "unable to unlink the shared memory region",
}


#: Tensors of this many bytes and more are copied through a mapping.
MAPPING_THRESHOLD = 1 << 20
#: Regions keep at most this much memory of dropped results, all together. The region whose result
#: was dropped last keeps one, whatever its size.
MOST_UNUSED = 64 << 20

#: The regions that keep memory of a dropped result, that of the latest last.
_keepers: list[weakref.ref[SystemRegion]] = []
_keepers_lock = forks.Lock()


def create(name: str, key: str, byte_size: int) -> SystemRegion:
    """Open or make the object ``key`` and resize it to ``byte_size`` bytes → its region.

    ``byte_size`` is unsigned 64-bit. RegionError with v1's codes -2, -3, -4.
    """
    try:
        descriptor = os.open(_path(key), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except (OSError, ValueError) as error:
        raise _coded(NO_DESCRIPTOR, key, error) from error
    region = SystemRegion(name, byte_size, key, descriptor)
    region.resize()
    return region


class SystemRegion(Region):
    """A shared-memory object, reached through its descriptor or a mapping.

    Both are closed when the last reference to this object is gone.
    """

    kind = SYSTEM

    def __init__(self, name: str, byte_size: int, key: str, descriptor: int) -> None:
        super().__init__(name, byte_size, key)
        self._descriptor = descriptor
        self._mapping: _ByteArray = np.empty(0, np.uint8)
        self._unused: list[_ByteArray] = []  # memory of an earlier copy, at most one
        weakref.finalize(self, os.close, descriptor).atexit = False

    def resize(self) -> None:
        """Give the object its size. RegionError -3 or -4 where v1 could not set or map it."""
        try:
            os.ftruncate(self._descriptor, ctypes.c_int64(self.byte_size).value)  # off_t is signed
        except OSError as error:
            raise _coded(NO_SIZE, self.key, error) from error
        try:
            if not self.byte_size:
                raise ValueError("a region needs at least 1 byte")
            mmap.mmap(self._descriptor, self.byte_size).close()
        except (OSError, ValueError, OverflowError) as error:
            raise _coded(NO_MAPPING, self.key, error) from error

    def _read(self, offset: int, count: int) -> memoryview:
        """Return a copy of ``count`` bytes; RegionError if the object has become too small."""
        if count >= MAPPING_THRESHOLD:
            return self._copy(self._mapped(offset + count)[offset : offset + count])
        copy = np.empty(count, np.uint8).data  # unlike a bytearray, not filled with zeros first
        done = 0
        while done < count:  # one read stops after 2 GiB less a page on Linux
            chunk = os.preadv(self._descriptor, [copy[done:]], offset + done)
            if not chunk:
                raise self._too_small(offset + count)
            done += chunk
        return copy

    def _copy(self, content: _ByteArray) -> memoryview:
        """Return a copy, in memory that earlier results no longer use if there is any.

        The system clears new memory before its first use, which takes as long as the copy.
        """
        try:
            memory = self._unused.pop()
        except IndexError:
            memory = content[:0]
        if len(memory) != len(content):
            memory = np.empty(len(content), np.uint8)
        memory[:] = content
        copy = memory[:]  # every array on the copy keeps this object
        weakref.finalize(copy, _keep, weakref.ref(self), memory).atexit = False
        view: memoryview = copy.data
        return view

    def _write(self, views: Sequence[memoryview]) -> None:
        """Copy the views; RegionError if the object has become too small or memory is short."""
        end = sum(map(len, views))
        if views and os.fstat(self._descriptor).st_size < end:
            raise self._too_small(end)
        offset = 0
        for view in views:
            if len(view) >= MAPPING_THRESHOLD:
                self._mapped(offset + len(view))[offset : offset + len(view)] = view
                offset += len(view)
                continue
            try:
                while view:
                    done = os.pwrite(self._descriptor, view, offset)
                    view, offset = view[done:], offset + done
            except OSError as error:
                raise self._unwritable(error) from error

    def _mapped(self, end: int) -> _ByteArray:
        """Return the object as an array of ``end`` bytes or more, all of them backed by memory."""
        size = os.fstat(self._descriptor).st_size
        if size < end:
            raise self._too_small(end)
        if len(self._mapping) < end:
            try:
                os.posix_fallocate(self._descriptor, 0, size)
                self._mapping = np.frombuffer(mmap.mmap(self._descriptor, size), np.uint8)
            except (OSError, ValueError) as error:
                raise self._unwritable(error) from error
        return self._mapping

    def destroy(self) -> None:
        """Unlink the key and do nothing else; RegionError -5 where no such key exists."""
        # As in v1, this unlinks the object that has the key now, whichever process made it
        # (docs/v1-behaviour.md §7.1).
        try:
            os.unlink(_path(self.key))
        except (OSError, ValueError) as error:
            raise _coded(NO_UNLINK, self.key, error) from error

    def _too_small(self, needed: int) -> RegionError:
        return RegionError(
            f"shared memory region '{self.name}' (key '{self.key}') has only "
            f"{os.fstat(self._descriptor).st_size} bytes left where {needed} are needed: another "
            f"create_shared_memory_region with the same key made it smaller; use that handle, "
            f"or one key for each region"
        )

    def _unwritable(self, error: OSError | ValueError) -> RegionError:
        return RegionError(
            f"cannot use shared memory region '{self.name}' (key '{self.key}'): {error}; if "
            "/dev/shm is full, destroy unused regions or enlarge it"
        )


def _keep(owner: weakref.ref[SystemRegion], memory: _ByteArray) -> None:
    """Keep the memory of a dropped result for the next one of its region, if the region exists."""
    region = owner()
    if region is None:
        return
    with _keepers_lock.lock:
        region._unused[:] = [memory]
        others = [keeper for keeper in _keepers if keeper is not owner and keeper() is not None]
        _keepers[:] = [*others, owner]
        while len(_keepers) > 1 and sum(map(_unused_bytes, _keepers)) > MOST_UNUSED:
            oldest = _keepers.pop(0)()
            if oldest is not None:
                oldest._unused.clear()


def _unused_bytes(keeper: weakref.ref[SystemRegion]) -> int:
    region = keeper()
    return 0 if region is None else sum(memory.nbytes for memory in list(region._unused))


def _path(key: str) -> str:
    """Key → the file that Linux keeps for it."""
    # glibc takes 'k', '/k' and '//k' for one object, and so did v1 (docs/v1-behaviour.md §7.1).
    bare = key.lstrip("/")
    if bare in ("", ".", "..") or "/" in bare:
        raise ValueError("expected a name without further slashes, such as '/my_region'")
    return f"/dev/shm/{bare}"


def _coded(code: int, key: str, error: Exception) -> RegionError:
    return RegionError(f"{MESSAGES[code]} (key {key!r}): {error}", code)

"""Destroying system shared memory, and what other processes see of it
(docs/v1-behaviour.md §7.1).
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import Callable, Iterator

import numpy as np
import pytest
from shm_regions import code_of, contents, fresh_keys, path_of, run_python

import tensorrtserver.shared_memory as shm
from tritonclient_shim.shm import handle_table
from tritonclient_shim.shm.system import LARGE


@pytest.fixture
def key() -> Iterator[str]:
    """A key that no other test or process uses."""
    with fresh_keys() as make:
        yield make()


@pytest.fixture
def new_key() -> Iterator[Callable[[], str]]:
    """Makes such keys."""
    with fresh_keys() as make:
        yield make


def test_destroy_only_unlinks(key: str) -> None:
    """destroy: the key goes, the memory of the handle stays usable (docs/v1-behaviour.md §7.1)."""
    handle = shm.create_shared_memory_region("r", key, 4)
    assert shm.destroy_shared_memory_region(handle) is None
    assert not os.path.exists(path_of(key))
    shm.set_shared_memory_region(handle, [np.arange(4, dtype=np.uint8)])
    assert handle_table.lookup(handle).read(0, 4) == b"\0\1\2\3"


def test_destroy_twice_raises(key: str) -> None:
    """Code -5: destroy twice (docs/v1-behaviour.md §7.1)."""
    handle = shm.create_shared_memory_region("r", key, 4)
    shm.destroy_shared_memory_region(handle)
    for _ in range(2):
        with pytest.raises(shm.SharedMemoryException) as caught:
            shm.destroy_shared_memory_region(handle)
        assert code_of(caught.value) == -5
        assert str(caught.value) == "unable to unlink the shared memory region"


def test_a_key_can_be_created_again_after_destroy(key: str) -> None:
    """A destroyed key starts anew: the old handle keeps the old memory, the new one has zeros."""
    old = shm.create_shared_memory_region("old", key, 4)
    shm.set_shared_memory_region(old, [np.ones(4, np.uint8)])
    shm.destroy_shared_memory_region(old)
    new = shm.create_shared_memory_region("new", key, 4)
    assert handle_table.lookup(new).read(0, 4) == bytes(4)
    assert handle_table.lookup(old).read(0, 4) == b"\1\1\1\1"


def test_create_and_destroy_leak_no_descriptors(new_key: Callable[[], str]) -> None:
    """A loop of create, set, destroy runs as long as it likes."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        handle = shm.create_shared_memory_region("r", new_key(), 8)
        shm.set_shared_memory_region(handle, [np.ones(8, np.uint8)])
        shm.destroy_shared_memory_region(handle)
    del handle
    assert len(os.listdir("/proc/self/fd")) == before


def test_regions_outlive_their_process_in_silence(key: str) -> None:
    """Regions stay until destroyed; no resource tracker, no warning at exit."""
    # docs/v1-behaviour.md §7.1
    done = run_python(
        """
        import sys, numpy as np, tensorrtserver.shared_memory as shm
        handle = shm.create_shared_memory_region("r", sys.argv[1], 4)
        shm.set_shared_memory_region(handle, [np.arange(4, dtype=np.uint8)])
        assert "multiprocessing.resource_tracker" not in sys.modules
        """,
        key,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert contents(key) == b"\0\1\2\3"


def test_an_attached_process_that_exits_deletes_nothing(key: str) -> None:
    """The owner can still use and destroy its region after another process attached and left."""
    handle = shm.create_shared_memory_region("r", key, 4)
    done = run_python(
        """
        import sys, numpy as np, tensorrtserver.shared_memory as shm
        handle = shm.create_shared_memory_region("mine", sys.argv[1], 4)
        shm.set_shared_memory_region(handle, [np.array([7], np.uint8)])
        """,
        key,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert handle_table.lookup(handle).read(0, 1) == b"\7"
    shm.destroy_shared_memory_region(handle)
    assert not os.path.exists(path_of(key))


def test_a_killed_fork_deletes_nothing(key: str) -> None:
    """A forked child writes through the inherited handle and is killed; the parent goes on."""
    handle = shm.create_shared_memory_region("r", key, 4)
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        shm.set_shared_memory_region(handle, [np.full(4, 9, np.uint8)])
        os.write(tell, b"x")
        signal.pause()
        os._exit(1)
    os.read(ready, 1)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    os.close(ready)
    os.close(tell)
    assert handle_table.lookup(handle).read(0, 4) == b"\t\t\t\t"
    shm.destroy_shared_memory_region(handle)


def test_a_full_dev_shm_is_an_error(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When memory runs out the error says so; a mapping would die of SIGBUS."""
    handle = shm.create_shared_memory_region("r", key, 8)

    monkeypatch.setattr(os, "pwrite", refused("No space left on device", errno.ENOSPC))
    with pytest.raises(shm.SharedMemoryException, match="/dev/shm is full"):
        shm.set_shared_memory_region(handle, [np.ones(8, np.uint8)])


def test_no_room_for_a_large_tensor(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is copied through a mapping reserves its memory first: the same error, no SIGBUS."""
    handle = shm.create_shared_memory_region("r", key, LARGE)
    monkeypatch.setattr(os, "posix_fallocate", refused("No space left on device", errno.ENOSPC))
    with pytest.raises(shm.SharedMemoryException, match="/dev/shm is full"):
        shm.set_shared_memory_region(handle, [np.ones(LARGE, np.uint8)])


def test_refused_for_another_reason(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that has nothing to do with room is told without advice about room."""
    handle = shm.create_shared_memory_region("r", key, 8)
    monkeypatch.setattr(os, "pwrite", refused("Input/output error", errno.EIO))
    with pytest.raises(shm.SharedMemoryException, match=r": Input/output error$"):
        shm.set_shared_memory_region(handle, [np.ones(8, np.uint8)])


def refused(text: str, number: int) -> Callable[..., int]:
    """A system call that fails."""

    def call(*_: object) -> int:
        raise OSError(number, text)

    return call


def test_python_without_posix_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the interpreter lacks it, v1's error names the call and its cause the reason."""
    monkeypatch.setitem(sys.modules, "_posixshmem", None)
    with pytest.raises(shm.SharedMemoryException) as caught:
        shm.create_shared_memory_region("r", "/shim_test_nowhere", 8)
    assert str(caught.value) == "unable to get shared memory descriptor"
    assert "this Python has no POSIX shared memory" in str(caught.value.__cause__)

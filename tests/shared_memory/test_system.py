"""System shared memory and handles: regions, their bytes, their processes
(docs/v1-behaviour.md §7.1, §7.3, §7.4).
"""

from __future__ import annotations

import ctypes
import errno
import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import tensorrtserver.cuda_shared_memory as cudashm
import tensorrtserver.shared_memory as shm
from tests.own_interpreter import environment
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import Endpoint, ServerMetadata
from tritonclient_shim.session.control import register_system
from tritonclient_shim.shm import regions
from tritonclient_shim.shm.regions import CUDA, SYSTEM, Region, RegionError
from tritonclient_shim.shm.system import MAPPING_THRESHOLD

_numbers = itertools.count()


def path_of(key: str) -> str:
    """Return the path of a key's object on Linux."""
    return "/dev/shm/" + key.lstrip("/")


def contents(key: str) -> bytes:
    """Return the bytes of a key's object, as any other process reads them."""
    with open(path_of(key), "rb") as file:
        return file.read()


@pytest.fixture
def new_key() -> Iterator[Callable[[], str]]:
    """Yield a function that makes unique keys. Remove their objects afterwards."""
    keys: list[str] = []

    def make() -> str:
        keys.append(f"/shim_test_{os.getpid()}_{next(_numbers)}")
        return keys[-1]

    yield make
    for path in map(path_of, keys):
        if os.path.exists(path):
            os.unlink(path)


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh interpreter, all warnings shown but the deprecation notice."""
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(code), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


def code_of(error: shm.SharedMemoryException) -> int:
    """Return v1's error code."""
    return int(error.args[0].value)


@pytest.fixture
def key(new_key: Callable[[], str]) -> str:
    """Return a key that no other test or process uses."""
    return new_key()


@pytest.mark.smoke
def test_create_makes_a_private_object_of_the_size(key: str) -> None:
    """create makes an object of byte_size bytes, mode 0600. The handle is a c_void_p."""
    # docs/v1-behaviour.md §7.1
    handle = shm.create_shared_memory_region("r", key, 100)
    status = os.stat(path_of(key))
    assert type(handle) is ctypes.c_void_p and handle.value
    assert (status.st_size, status.st_mode & 0o777) == (100, 0o600)


def test_a_nul_byte_ends_names_and_keys(key: str) -> None:
    """A NUL byte ends a name, as in v1's C strings."""
    region = regions.lookup(shm.create_shared_memory_region("r\0x", key + "\0x", 8))
    assert (region.name, region.key) == ("r", key)


@pytest.mark.parametrize("bad", ["", "/", ".", "/..", "/a/b", "a/b", "/" + "n" * 256, b"\xff/"])
def test_unusable_keys(bad: str | bytes) -> None:
    """A bad or empty key is code -2 (docs/v1-behaviour.md §7.1)."""
    with pytest.raises(shm.SharedMemoryException) as caught:
        shm.create_shared_memory_region("r", bad, 8)
    assert code_of(caught.value) == -2
    assert str(caught.value) == "unable to get shared memory descriptor"


@pytest.mark.parametrize(
    "size, code, text",
    [
        (-1, -3, "unable to initialize the size"),
        (2**63, -3, "unable to initialize the size"),
        (0, -4, "unable to read/mmap the shared memory region"),
        (2**62, -4, "unable to read/mmap the shared memory region"),
        (2**64, -4, "unable to read/mmap the shared memory region"),
    ],
)
@pytest.mark.smoke
def test_unusable_sizes(key: str, size: int, code: int, text: str) -> None:
    """A negative size is code -3, size 0 or a huge size code -4 (docs/v1-behaviour.md §7.1)."""
    with pytest.raises(shm.SharedMemoryException) as caught:
        shm.create_shared_memory_region("r", key, size)
    assert (code_of(caught.value), str(caught.value)) == (code, text)
    assert key in str(caught.value.__cause__)


def test_object_arrays_are_refused(key: str) -> None:
    """set refuses an object array, of which v1 copied the pointers, with an alternative."""
    # docs/v1-behaviour.md §7.1
    handle = shm.create_shared_memory_region("r", key, 64)
    with pytest.raises(shm.SharedMemoryException, match="serialize_string_tensor"):
        shm.set_shared_memory_region(handle, [np.array(["a"], dtype=object)])
    assert contents(key) == bytes(64)


@pytest.mark.parametrize("size", [1 << 16, 2 * MAPPING_THRESHOLD])
def test_a_shrunk_object_does_not_kill_the_process(key: str, size: int) -> None:
    """After another create has shrunk the object, access raises an error. v1 died of SIGBUS."""
    done = run_python(
        """
        import sys, numpy as np, tensorrtserver.shared_memory as shm
        from tritonclient_shim.shm import regions
        key, size = sys.argv[1], int(sys.argv[2])
        whole = np.ones(size, np.uint8)
        large = shm.create_shared_memory_region("large", key, size)
        shm.set_shared_memory_region(large, [whole])
        regions.lookup(large).read(0, size)
        small = shm.create_shared_memory_region("small", key, 1)
        for use in (lambda: shm.set_shared_memory_region(large, [whole]),
                    lambda: regions.lookup(large).read(0, size),
                    lambda: regions.lookup(large).read(4096, 8)):
            try:
                use()
            except Exception as error:
                print(type(error).__name__, "another create_shared_memory_region" in str(error))
        shm.set_shared_memory_region(small, [whole[:1]])
        print(bytes(regions.lookup(small).read(0, 1)))
        """,
        key,
        str(size),
    )
    lines = ["SharedMemoryException True", *["RegionError True"] * 2, r"b'\x01'"]
    assert (done.stdout.splitlines(), done.returncode, done.stderr) == (lines, 0, "")
    assert os.stat(path_of(key)).st_size == 1


def test_region_read_and_write_check_their_bounds(key: str) -> None:
    """read returns private copies; read and write refuse to leave the region."""
    region = regions.lookup(shm.create_shared_memory_region("r", key, 8))
    region.write_arrays([np.frombuffer(b"abc", np.uint8), np.array([1], np.uint16)])
    assert region.read(0, 8) == b"abc\1\0\0\0\0" and region.read(8, 0) == b""
    for offset, count in [(0, 9), (8, 1), (-1, 1), (4, -1)]:
        with pytest.raises(RegionError, match="its size is 8 bytes"):
            region.read(offset, count)
    with pytest.raises(RegionError, match="its size is 8 bytes"):
        region.write_arrays([np.zeros(4, np.uint8), np.zeros(5, np.uint8)])


def test_create_and_destroy_leak_no_descriptors(new_key: Callable[[], str]) -> None:
    """A loop of create, set, destroy does not run out of resources."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        handle = shm.create_shared_memory_region("r", new_key(), 8)
        shm.set_shared_memory_region(handle, [np.ones(8, np.uint8)])
        shm.destroy_shared_memory_region(handle)
    del handle
    assert len(os.listdir("/proc/self/fd")) < before + 100  # other threads may open some


def test_a_process_that_exits_deletes_nothing(key: str) -> None:
    """A region stays until it is destroyed; no resource tracker, no warning at exit."""
    # docs/v1-behaviour.md §7.1
    handle = shm.create_shared_memory_region("r", key, 4)
    done = run_python(
        """
        import sys, numpy as np, tensorrtserver.shared_memory as shm
        handle = shm.create_shared_memory_region("mine", sys.argv[1], 4)
        shm.set_shared_memory_region(handle, [np.array([7], np.uint8)])
        assert "multiprocessing.resource_tracker" not in sys.modules
        """,
        key,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert regions.lookup(handle).read(0, 1) == b"\7"
    shm.destroy_shared_memory_region(handle)
    assert not os.path.exists(path_of(key))


def test_a_killed_fork_deletes_nothing(key: str) -> None:
    """A forked child writes through the inherited handle and is killed; the parent works on."""
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
    assert regions.lookup(handle).read(0, 4) == b"\t\t\t\t"
    shm.destroy_shared_memory_region(handle)


@pytest.mark.parametrize(
    ("size", "call", "number", "text"),
    [
        (8, "pwrite", errno.ENOSPC, "/dev/shm is full"),
        (MAPPING_THRESHOLD, "posix_fallocate", errno.ENOSPC, "/dev/shm is full"),
        (8, "pwrite", errno.EIO, "Input/output error; if"),
    ],
)
def test_memory_that_cannot_be_had(
    key: str, monkeypatch: pytest.MonkeyPatch, size: int, call: str, number: int, text: str
) -> None:
    """Without room create raises an error with advice. A mapping would die of SIGBUS."""
    handle = shm.create_shared_memory_region("r", key, size)

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(shm.SharedMemoryException, match=text):
        shm.set_shared_memory_region(handle, [np.ones(size, np.uint8)])


def test_large_tensors_arrive_whole_and_are_copies(key: str) -> None:
    """set writes entries one after another; read data are private."""
    # docs/v1-behaviour.md §7.1, §4.3
    handle = shm.create_shared_memory_region("r", key, 2 * MAPPING_THRESHOLD + 10)
    first = np.arange(MAPPING_THRESHOLD, dtype=np.uint8)
    shm.set_shared_memory_region(handle, [first, first[::-1], np.full(10, 7, np.uint8)])
    region = regions.lookup(handle)
    read = np.frombuffer(region.read(0, 2 * MAPPING_THRESHOLD + 10), np.uint8)
    assert np.array_equal(read[:MAPPING_THRESHOLD], first)
    assert np.array_equal(read[MAPPING_THRESHOLD:-10], first[::-1])
    shm.set_shared_memory_region(handle, [np.zeros(MAPPING_THRESHOLD, np.uint8)])
    assert np.array_equal(read[:MAPPING_THRESHOLD], first)


def test_memory_of_a_dropped_result_is_used_again(key: str) -> None:
    """A large result lies where one lay that nobody has any more. Other results stay."""
    handle = shm.create_shared_memory_region("r", key, MAPPING_THRESHOLD)
    region = regions.lookup(handle)

    def read(value: int) -> Any:
        shm.set_shared_memory_region(handle, [np.full(MAPPING_THRESHOLD, value, np.uint8)])
        return np.frombuffer(region.read(0, MAPPING_THRESHOLD), np.uint8)

    kept, dropped = read(1)[5:7], read(2)
    place = dropped.ctypes.data
    del dropped
    again = read(3)
    assert again.ctypes.data == place
    assert (kept.tolist(), set(again.tolist()), set(read(4).tolist())) == ([1, 1], {3}, {4})
    assert set(again.tolist()) == {3}


def test_memory_of_dropped_results_is_bounded(new_key: Callable[[], str]) -> None:
    """Regions keep at most 64 MiB of dropped results together, or one result of any size."""

    def kept_after_reading(size: int, count: int) -> int:
        handles = [shm.create_shared_memory_region("r", new_key(), size) for _ in range(count)]
        tracemalloc.start()
        results = [regions.lookup(handle).read(0, size) for handle in handles]
        assert tracemalloc.get_traced_memory()[0] >= count * size
        del results
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        for handle in handles:
            shm.destroy_shared_memory_region(handle)
        return kept >> 20

    assert kept_after_reading(40 << 20, 4) == 40
    assert kept_after_reading(15 << 20, 6) == 60
    assert kept_after_reading(70 << 20, 2) == 70


def test_a_destroyed_region_keeps_no_memory(key: str) -> None:
    """A result that is dropped after its region leaves no memory behind."""
    tracemalloc.start()
    handle = shm.create_shared_memory_region("r", key, 4 * MAPPING_THRESHOLD)
    result = regions.lookup(handle).read(0, 4 * MAPPING_THRESHOLD)
    shm.destroy_shared_memory_region(handle)
    del handle
    del result
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < MAPPING_THRESHOLD


def test_results_of_threads_stay_apart(key: str) -> None:
    """Threads that read parts of one region, and drop results, get each their own bytes."""
    handle = shm.create_shared_memory_region("r", key, 4 * MAPPING_THRESHOLD)
    parts = [np.full(MAPPING_THRESHOLD, number, np.uint8) for number in range(4)]
    shm.set_shared_memory_region(handle, parts)
    region = regions.lookup(handle)

    def read(number: int) -> set[int]:
        values: set[int] = set()
        result: Any = parts[number]
        for _ in range(30):
            data = region.read(number * MAPPING_THRESHOLD, MAPPING_THRESHOLD)
            values.update(np.unique(result).tolist())  # the result before it
            result = np.frombuffer(data, np.uint8)
        return values

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, range(4))) == [{0}, {1}, {2}, {3}]


class Backend:
    """A server of some version that records registrations."""

    endpoint = Endpoint("grpc", "a-server:1")

    def __init__(self, version: str) -> None:
        self._version = version
        self.registered: list[Any] = []

    def server_metadata(self) -> ServerMetadata:
        """Return the version."""
        return ServerMetadata("triton", self._version, ("model_configuration",))

    def shm_status(self) -> list[Any]:
        """Return no regions."""
        return []

    def register_system(self, *region: Any) -> None:
        """Record the registration."""
        self.registered.append(region)


@pytest.mark.parametrize(
    ("version", "offset"), [("2.61.0", 4096), ("3.0.0", 4096), ("v5", 4096), ("2.51.0", 0)]
)
def test_offsets(version: str, offset: int) -> None:
    """Triton from 2.61 on, and a server of unknown version, get the offset unchanged."""
    backend: Any = Backend(version)
    if not offset:  # as v1's own functions register: without a request for the version
        backend.server_metadata = None
    register_system(backend, "r", "/k", 64, offset)
    assert backend.registered == [("r", "/k", 64, offset)]


@pytest.mark.parametrize("version", ["2.60.0", "2.5.0", "1.15.0"])
def test_offset_on_an_earlier_server(version: str) -> None:
    """An earlier Triton, which would add the offset twice, registers nothing.

    The call is refused.
    """
    backend: Any = Backend(version)
    with pytest.raises(ServerError, match="with offset 0 and byte size 4160, and add 4096"):
        register_system(backend, "r", "/k", 64, 4096)
    assert backend.registered == []


# ------------------------------------------------------- handles, names and exceptions

MODULES: dict[Any, Any] = {
    shm: shm.SharedMemoryException,
    cudashm: cudashm.CudaSharedMemoryException,
}


class HeapRegion(Region):
    """A region without memory."""

    def destroy(self) -> None:
        pass


def new_region(kind: str = SYSTEM) -> Region:
    region = HeapRegion("heap", 16)
    region.kind = kind
    return region


@pytest.mark.smoke
def test_handles_are_plain_void_pointers_with_unique_values() -> None:
    """A handle's type is c_void_p, as programs test; no two have one value, on any thread."""
    # docs/v1-behaviour.md §7.4
    with ThreadPoolExecutor(8) as threads:
        handles = list(threads.map(lambda _: regions.add(new_region()), range(800)))
    assert {type(handle) for handle in handles} == {ctypes.c_void_p}
    assert len({handle.value for handle in handles}) == 800
    assert all(regions.lookup(handle) is regions.lookup(handle.value) for handle in handles)


def test_a_value_is_not_used_again() -> None:
    """A handle that was destroyed and lost never stands for another region."""
    old = regions.add(new_region())
    value = old.value
    regions.destroy(old, SYSTEM)
    del old
    gc.collect()
    assert value not in {regions.add(new_region()).value for _ in range(10)}
    with pytest.raises(RegionError, match="is unknown"):
        regions.lookup(ctypes.c_void_p(value))


def test_a_destroyed_region_stays_while_its_handle_does() -> None:
    """After destroy the memory stays usable. The entry is removed with the handle."""
    # docs/v1-behaviour.md §7.1
    handle = regions.add(new_region())
    regions.destroy(ctypes.c_void_p(handle.value), SYSTEM)
    assert regions.lookup(handle).name == "heap"
    gc.collect()  # what earlier tests have left
    before = len(regions._regions)
    del handle
    gc.collect()
    assert len(regions._regions) == before - 1


def test_a_region_destroyed_by_a_copy_goes_at_once() -> None:
    """c_void_p(h.value) is the handle, also after h is collected; destroy removes the entry."""
    # docs/v1-behaviour.md §7.4
    first = regions.add(new_region())
    copy = ctypes.c_void_p(first.value)
    del first
    gc.collect()
    assert regions.lookup(copy).name == "heap"
    regions.destroy(copy, SYSTEM)
    with pytest.raises(RegionError, match="is unknown"):
        regions.lookup(copy)


@pytest.mark.parametrize(
    "handle, text",
    [
        (None, "handle is None"),
        (ctypes.c_void_p(), "a null pointer"),
        (ctypes.c_void_p(0), "a null pointer"),
        (0, "a null pointer"),
        (ctypes.c_void_p(1), "handle 0x1 is unknown"),
        (ctypes.c_void_p(2**64 - 1), "is unknown"),
        (-1, "is unknown"),
        ("/key", "a str is no shared memory handle"),
        (5.0, "a float is no shared memory handle"),
        ((ctypes.c_void_p(1),), "a tuple is no shared memory handle"),
    ],
)
@pytest.mark.parametrize("module", MODULES)
def test_what_is_no_handle_is_refused(module: Any, handle: Any, text: str) -> None:
    """set and destroy raise the module's exception for any object, with what they expect."""
    expected = "expected the c_void_p that create_shared_memory_region returned"
    for use in (
        lambda: module.set_shared_memory_region(handle, [np.ones(1)]),
        lambda: module.set_shared_memory_region(handle, []),
        lambda: module.destroy_shared_memory_region(handle),
    ):
        with pytest.raises(MODULES[module]) as caught:
            use()
        assert text in str(caught.value) and expected in str(caught.value)


@pytest.mark.parametrize(("module", "other"), [(shm, CUDA), (cudashm, SYSTEM)])
def test_a_handle_of_the_other_kind_is_refused(module: Any, other: str) -> None:
    """Each module refuses a handle of the other kind of memory."""
    handle = regions.add(new_region(other))
    with pytest.raises(MODULES[module], match=f"of {other} shared memory region 'heap'"):
        module.set_shared_memory_region(handle, [np.ones(1)])
    with pytest.raises(MODULES[module], match="region is needed"):
        module.destroy_shared_memory_region(handle)


CODES = [
    (shm, -2, "unable to get shared memory descriptor"),
    (shm, -3, "unable to initialize the size"),
    (shm, -4, "unable to read/mmap the shared memory region"),
    (shm, -5, "unable to unlink the shared memory region"),
    (shm, 0, "c_int(0)"),
    (cudashm, -1, "unable to set device successfully"),
    (cudashm, -2, "unable to create cuda shared memory handle"),
    (cudashm, -3, "unable to set values in cuda shared memory"),
    (cudashm, -4, "unable to free GPU device memory"),
    (cudashm, -9, "c_int(-9)"),
]


@pytest.mark.parametrize(("module", "code", "text"), CODES)
def test_exception_from_a_code(module: Any, code: int, text: str) -> None:
    """The exceptions have err_code_map, _msg and args; unknown codes show the c_int."""
    # docs/v1-behaviour.md §7.1, §7.2
    error = MODULES[module](ctypes.c_int(code))
    assert str(error) == text and error.args[0].value == code
    known = [of for kind, of, text in CODES if kind is module and "c_int" not in text]
    assert sorted(error.err_code_map) == sorted(known)
    assert error._msg == error.err_code_map.get(code)


@pytest.mark.parametrize("module", MODULES)
def test_exception_from_a_text(module: Any) -> None:
    """An exception made from a text has args and _msg, no message(), and can be pickled."""
    # docs/v1-behaviour.md §7.1
    error = MODULES[module]("text")
    assert (error.args, error._msg, str(error)) == (("text",), "text", "text")
    assert not hasattr(error, "message") and type(error).__mro__[1] is Exception
    assert str(pickle.loads(pickle.dumps(error))) == "text"
    for bad in (-2, None):
        with pytest.raises(AttributeError, match="has no attribute 'value'"):
            MODULES[module](bad)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    "bad, text",
    [
        ("text", "input must be a numpy array"),
        (np.array([], dtype=object), "input cannot be empty"),
        (np.array(["u"]), "cannot serialize string tensor: invalid datatype"),
    ],
)
def test_serialize_string_tensor_errors(module: Any, bad: object, text: str) -> None:
    """Errors of the module's functions are the module's exceptions (docs/v1-behaviour.md §3.6)."""
    with pytest.raises(MODULES[module]) as caught:
        module.serialize_string_tensor(bad)
    assert str(caught.value) == text

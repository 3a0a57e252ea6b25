"""System shared memory: v1 §7.1, row by row."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from typing import Callable, Iterator

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tritonclient_shim.shm import registry
from tritonclient_shim.shm.region import RegionError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def path_of(key: str) -> str:
    """Where Linux shows the object of a key."""
    return "/dev/shm/" + key.lstrip("/")


@pytest.fixture
def new_key(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Makes keys that no other test or process uses, and removes their objects afterwards."""
    keys = []

    def make() -> str:
        keys.append(f"/shim_test_{os.getpid()}_{abs(hash(request.node.name))}_{len(keys)}")
        return keys[-1]

    yield make
    for key in keys:
        if os.path.exists(path_of(key)):
            os.unlink(path_of(key))


@pytest.fixture
def key(new_key: Callable[[], str]) -> str:
    """One such key."""
    return new_key()


def contents(key: str) -> bytes:
    with open(path_of(key), "rb") as file:
        return file.read()


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh interpreter of the same environment, all warnings shown."""
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(code), *arguments],
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        timeout=60,
    )


def code_of(error: shm.SharedMemoryException) -> int:
    return int(error.args[0].value)


# ------------------------------------------------------------------------------- create


def test_create_makes_a_private_object_of_the_size(key: str) -> None:
    """v1 §7.1 create: an object of byte_size bytes, mode 0600; the handle is a c_void_p."""
    handle = shm.create_shared_memory_region("r", key, 100)
    status = os.stat(path_of(key))
    assert type(handle) is ctypes.c_void_p and handle.value
    assert (status.st_size, status.st_mode & 0o777) == (100, 0o600)


@pytest.mark.parametrize("size", [32, 200])
def test_create_resizes_an_existing_object(key: str, size: int) -> None:
    """v1 §7.1 create: an existing object is resized, up or down, keeping what fits."""
    first = shm.create_shared_memory_region("a", key, 64)
    shm.set_shared_memory_region(first, [np.arange(64, dtype=np.uint8)])
    shm.create_shared_memory_region("b", key, size)
    assert contents(key) == bytes(range(64))[:size].ljust(size, b"\0")


@pytest.mark.parametrize("spelling", ["{}", "/{}", "//{}"])
def test_slashes_before_the_key_do_not_matter(key: str, spelling: str) -> None:
    """v1 §7.1 create: 'k', '/k' and '//k' name one object."""
    bare = key.lstrip("/")
    handle = shm.create_shared_memory_region("r", spelling.format(bare), 8)
    assert os.listdir("/dev/shm").count(bare) == 1
    shm.destroy_shared_memory_region(handle)
    assert not os.path.exists(path_of(key))


def test_names_and_keys_may_be_bytes(key: str) -> None:
    """v1 §7.1 create: str or bytes names."""
    handle = shm.create_shared_memory_region(b"r", key.encode(), 8)
    region = registry.lookup(handle)
    assert (region.name, region.key, region.offset, region.size) == ("r", key, 0, 8)


def test_a_nul_byte_ends_names_and_keys(key: str) -> None:
    """v1 passed C strings: a NUL byte ends them."""
    region = registry.lookup(shm.create_shared_memory_region("r\0x", key + "\0x", 8))
    assert (region.name, region.key) == ("r", key)


@pytest.mark.parametrize("bad", ["", "/", ".", "/..", "/a/b", "a/b", "/" + "n" * 256, b"\xff/"])
def test_unusable_keys(bad: str | bytes) -> None:
    """v1 §7.1 code -2: bad or empty key."""
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
def test_unusable_sizes(key: str, size: int, code: int, text: str) -> None:
    """v1 §7.1 codes -3 (negative size) and -4 (size 0 or huge)."""
    with pytest.raises(shm.SharedMemoryException) as caught:
        shm.create_shared_memory_region("r", key, size)
    assert (code_of(caught.value), str(caught.value)) == (code, text)
    assert key in str(caught.value.__cause__)


@pytest.mark.parametrize("size, bytes_made", [(True, 1), (np.int64(16), 16), (2**64 + 16, 16)])
def test_integers_are_taken_as_c_takes_them(key: str, size: int, bytes_made: int) -> None:
    """v1's byte_size was an unsigned 64-bit C argument."""
    shm.create_shared_memory_region("r", key, size)
    assert os.stat(path_of(key)).st_size == bytes_made


@pytest.mark.parametrize("size", [64.0, "64", None])
def test_sizes_of_the_wrong_type(key: str, size: object) -> None:
    """v1 §7.1: byte_size float/str → ctypes.ArgumentError, argument 3; nothing is created."""
    with pytest.raises(ctypes.ArgumentError) as caught:
        shm.create_shared_memory_region("r", key, size)  # type: ignore[arg-type]
    assert str(caught.value) == "argument 3: <class 'TypeError'>: wrong type"
    assert not os.path.exists(path_of(key))


@pytest.mark.parametrize(
    "name, key, text",
    [
        (5, "/k", "argument 1: <class 'AttributeError'>: 'int' object has no attribute 'encode'"),
        (None, "/k", "argument 1: <class 'AttributeError'>: 'NoneType' object has no attribute"),
        ("n", 1.5, "argument 2: <class 'AttributeError'>: 'float' object has no attribute"),
        ("n", None, "argument 2: <class 'AttributeError'>: 'NoneType' object has no attribute"),
        ("n", "/\udc80", "argument 2: <class 'UnicodeEncodeError'>: 'utf-8' codec can't encode"),
    ],
)
def test_names_and_keys_of_the_wrong_type(name: object, key: object, text: str) -> None:
    """v1 §7.1: name not str/bytes → ArgumentError; None, which crashed v1, is refused too."""
    with pytest.raises(ctypes.ArgumentError) as caught:
        shm.create_shared_memory_region(name, key, 8)  # type: ignore[arg-type]
    assert str(caught.value).startswith(text)


# ---------------------------------------------------------------------------------- set


def test_arrays_are_copied_one_after_another_in_c_order(key: str) -> None:
    """v1 §7.1 set: from offset 0, flattened in C order, also non-contiguous and 0-d arrays."""
    handle = shm.create_shared_memory_region("r", key, 40)
    transposed = np.arange(4, dtype=np.int32).reshape(2, 2).T
    every_second = np.arange(8, dtype=np.int16)[::2]
    half = np.array([1.5], dtype=np.float16)
    zero_d = np.array(7, dtype=np.uint8)
    assert shm.set_shared_memory_region(handle, (transposed, every_second, half, zero_d)) is None
    expected = np.array([0, 2, 1, 3], np.int32).tobytes() + np.array([0, 2, 4, 6], "i2").tobytes()
    assert contents(key) == (expected + half.tobytes() + b"\x07").ljust(40, b"\0")


def test_nothing_to_copy_is_no_operation(key: str) -> None:
    """v1 §7.1 set: [] and empty arrays are no-ops."""
    handle = shm.create_shared_memory_region("r", key, 4)
    shm.set_shared_memory_region(handle, [np.arange(4, dtype=np.uint8)])
    for nothing in ([], (), [np.zeros(0)], [np.zeros((3, 0))], [np.zeros(2, "S0")[:0]]):
        shm.set_shared_memory_region(handle, nothing)
    assert contents(key) == b"\0\1\2\3"


def test_fixed_width_strings_keep_their_nul_bytes(key: str) -> None:
    """v1 §3.6: a serialised string tensor is a 0-d S array; its trailing NULs are data."""
    handle = shm.create_shared_memory_region("r", key, 10)
    shm.set_shared_memory_region(handle, [np.array(b"\1\0\0\0a\0\0\0", dtype="S8")])
    assert contents(key) == b"\1\0\0\0a\0\0\0\0\0"


def test_serialize_string_tensor_round_trip(key: str) -> None:
    """v1 §3.6 (1.9–1.10): the function is in this module and its result goes into a region."""
    serialized = shm.serialize_string_tensor(np.array(["a", "ü\0"], dtype=object))
    handle = shm.create_shared_memory_region("r", key, serialized.size * serialized.itemsize)
    shm.set_shared_memory_region(handle, [serialized])
    assert contents(key) == b"\1\0\0\0a\3\0\0\0\xc3\xbc\0"


@pytest.mark.parametrize(
    "bad, text",
    [
        ("text", "input must be a numpy array"),
        (np.array([], dtype=object), "input cannot be empty"),
        (np.array(["u"]), "cannot serialize string tensor: invalid datatype"),
    ],
)
def test_serialize_string_tensor_errors(bad: object, text: str) -> None:
    """v1 §3.6: its errors are SharedMemoryExceptions in this module."""
    with pytest.raises(shm.SharedMemoryException) as caught:
        shm.serialize_string_tensor(bad)  # type: ignore[arg-type]
    assert str(caught.value) == text


def test_object_arrays_are_refused(key: str) -> None:
    """v1 §7.1 set copied an object array's pointers; the error names the way to do it."""
    handle = shm.create_shared_memory_region("r", key, 64)
    with pytest.raises(shm.SharedMemoryException, match="serialize_string_tensor"):
        shm.set_shared_memory_region(handle, [np.array(["a"], dtype=object)])
    assert contents(key) == bytes(64)


def test_overflow_raises_and_writes_nothing(key: str) -> None:
    """v1 §7.1 set had no bounds check and crashed: now an error, before anything is written."""
    handle = shm.create_shared_memory_region("region", key, 7)
    with pytest.raises(shm.SharedMemoryException) as caught:
        shm.set_shared_memory_region(handle, [np.ones(4, np.uint8), np.ones(4, np.uint8)])
    assert "'region'" in str(caught.value) and "8 bytes" in str(caught.value)
    assert "7 bytes" in str(caught.value) and contents(key) == bytes(7)


@pytest.mark.parametrize(
    "values, text",
    [
        (None, "input_values must be specified as a list/tuple of numpy arrays"),
        (np.zeros(2), "input_values must be specified as a list/tuple of numpy arrays"),
        ("abc", "input_values must be specified as a list/tuple of numpy arrays"),
        ([1], "each element of input_values must be a numpy array"),
        ([np.ones(1, np.uint8), 3], "each element of input_values must be a numpy array"),
    ],
)
def test_values_of_the_wrong_type(key: str, values: object, text: str) -> None:
    """v1 §7.1 str errors of set (1.11+); nothing is written."""
    handle = shm.create_shared_memory_region("r", key, 4)
    with pytest.raises(shm.SharedMemoryException) as caught:
        shm.set_shared_memory_region(handle, values)  # type: ignore[arg-type]
    assert (str(caught.value), caught.value.args) == (text, (text,))
    assert contents(key) == bytes(4)


def test_a_shrunk_object_does_not_kill_the_process(key: str) -> None:
    """Another create may shrink the object; v1 and any mapping die of SIGBUS, we raise."""
    done = run_python(
        """
        import sys, numpy as np, tensorrtserver.shared_memory as shm
        from tritonclient_shim.shm import registry
        large = shm.create_shared_memory_region("large", sys.argv[1], 1 << 20)
        small = shm.create_shared_memory_region("small", sys.argv[1], 1)
        for use in (lambda: shm.set_shared_memory_region(large, [np.ones(1 << 20, np.uint8)]),
                    lambda: registry.lookup(large).read(4096, 8)):
            try:
                use()
            except Exception as error:
                print(type(error).__name__, "another create_shared_memory_region" in str(error))
        shm.set_shared_memory_region(small, [np.ones(1, np.uint8)])
        print(registry.lookup(small).read(0, 1))
        """,
        key,
    )
    lines = ["SharedMemoryException True", "RegionError True", r"b'\x01'"]
    assert (done.stdout.splitlines(), done.returncode, done.stderr) == (lines, 0, "")
    assert os.stat(path_of(key)).st_size == 1


# ------------------------------------------------------------------------------ destroy


def test_destroy_only_unlinks(key: str) -> None:
    """v1 §7.1 destroy: the key goes, the memory of the handle stays usable."""
    handle = shm.create_shared_memory_region("r", key, 4)
    assert shm.destroy_shared_memory_region(handle) is None
    assert not os.path.exists(path_of(key))
    shm.set_shared_memory_region(handle, [np.arange(4, dtype=np.uint8)])
    assert registry.lookup(handle).read(0, 4) == b"\0\1\2\3"


def test_destroy_twice_raises(key: str) -> None:
    """v1 §7.1 code -5: destroy twice."""
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
    assert registry.lookup(new).read(0, 4) == bytes(4)
    assert registry.lookup(old).read(0, 4) == b"\1\1\1\1"


def test_create_and_destroy_leak_no_descriptors(new_key: Callable[[], str]) -> None:
    """A loop of create, set, destroy runs as long as it likes."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        handle = shm.create_shared_memory_region("r", new_key(), 8)
        shm.set_shared_memory_region(handle, [np.ones(8, np.uint8)])
        shm.destroy_shared_memory_region(handle)
    del handle
    assert len(os.listdir("/proc/self/fd")) == before


# ---------------------------------------------------------------------------- processes


def test_regions_outlive_their_process_in_silence(key: str) -> None:
    """v1 §7.1: regions stay until destroyed; no resource tracker, no warning at exit."""
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
    assert registry.lookup(handle).read(0, 1) == b"\7"
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
    assert registry.lookup(handle).read(0, 4) == b"\t\t\t\t"
    shm.destroy_shared_memory_region(handle)


def test_a_full_dev_shm_is_an_error(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When memory runs out the error says so; a mapping would die of SIGBUS."""
    handle = shm.create_shared_memory_region("r", key, 8)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(shm.SharedMemoryException, match="/dev/shm is full"):
        shm.set_shared_memory_region(handle, [np.ones(8, np.uint8)])


# --------------------------------------------------------------------- the exception class


@pytest.mark.parametrize(
    "code, text",
    [
        (-2, "unable to get shared memory descriptor"),
        (-3, "unable to initialize the size"),
        (-4, "unable to read/mmap the shared memory region"),
        (-5, "unable to unlink the shared memory region"),
        (-9, "c_int(-9)"),
        (0, "c_int(0)"),
    ],
)
def test_exception_from_a_code(code: int, text: str) -> None:
    """v1 §7.1 SharedMemoryException: err_code_map, _msg, args; unknown codes show the c_int."""
    error = shm.SharedMemoryException(ctypes.c_int(code))
    assert str(error) == text and code_of(error) == code
    assert sorted(error.err_code_map) == [-5, -4, -3, -2]
    assert error._msg == error.err_code_map.get(code)


def test_exception_from_a_text() -> None:
    """v1 §7.1 SharedMemoryException('text'): args, _msg, no message(); it survives pickling."""
    error = shm.SharedMemoryException("text")
    assert (error.args, error._msg, str(error)) == (("text",), "text", "text")
    assert not hasattr(error, "message") and type(error).__mro__[1] is Exception
    assert str(pickle.loads(pickle.dumps(error))) == "text"


@pytest.mark.parametrize("bad", [-2, None])
def test_exception_from_anything_else(bad: object) -> None:
    """v1 wanted a c_int or a str: an int has no value."""
    with pytest.raises(AttributeError, match="has no attribute 'value'"):
        shm.SharedMemoryException(bad)  # type: ignore[arg-type]


def test_region_read_and_write_check_their_bounds(key: str) -> None:
    """What the contexts use: read returns private copies, both refuse to leave the region."""
    region = registry.lookup(shm.create_shared_memory_region("r", key, 8))
    region.write(2, [b"ab", bytearray(b"c"), memoryview(np.array([1], np.uint16))])
    assert region.read(0, 8) == b"\0\0abc\1\0\0" and region.read(8, 0) == b""
    for offset, count in [(0, 9), (8, 1), (-1, 1), (4, -1)]:
        with pytest.raises(RegionError, match="its size is 8 bytes"):
            region.read(offset, count)
    with pytest.raises(RegionError, match="its size is 8 bytes"):
        region.write(7, [b"xy"])

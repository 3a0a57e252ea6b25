"""Creating system shared memory and its exception (docs/v1-behaviour.md §7.1)."""

from __future__ import annotations

import ctypes
import os
import pickle
from typing import Iterator

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tests.unit.shm_regions import code_of, contents, fresh_keys, path_of
from tritonclient_shim.shm import handle_table


@pytest.fixture
def key() -> Iterator[str]:
    """A key that no other test or process uses."""
    with fresh_keys() as make:
        yield make()


def test_create_makes_a_private_object_of_the_size(key: str) -> None:
    """create: an object of byte_size bytes, mode 0600; the handle is a c_void_p."""
    # docs/v1-behaviour.md §7.1
    handle = shm.create_shared_memory_region("r", key, 100)
    status = os.stat(path_of(key))
    assert type(handle) is ctypes.c_void_p and handle.value
    assert (status.st_size, status.st_mode & 0o777) == (100, 0o600)


@pytest.mark.parametrize("size", [32, 200])
def test_create_resizes_an_existing_object(key: str, size: int) -> None:
    """create: an existing object is resized, up or down, keeping what fits."""
    # docs/v1-behaviour.md §7.1
    first = shm.create_shared_memory_region("a", key, 64)
    shm.set_shared_memory_region(first, [np.arange(64, dtype=np.uint8)])
    shm.create_shared_memory_region("b", key, size)
    assert contents(key) == bytes(range(64))[:size].ljust(size, b"\0")


@pytest.mark.parametrize("spelling", ["{}", "/{}", "//{}"])
def test_slashes_before_the_key_do_not_matter(key: str, spelling: str) -> None:
    """create: 'k', '/k' and '//k' name one object (docs/v1-behaviour.md §7.1)."""
    bare = key.lstrip("/")
    handle = shm.create_shared_memory_region("r", spelling.format(bare), 8)
    assert os.listdir("/dev/shm").count(bare) == 1
    shm.destroy_shared_memory_region(handle)
    assert not os.path.exists(path_of(key))


def test_names_and_keys_may_be_bytes(key: str) -> None:
    """create: str or bytes names (docs/v1-behaviour.md §7.1)."""
    handle = shm.create_shared_memory_region(b"r", key.encode(), 8)
    region = handle_table.lookup(handle)
    assert (region.name, region.key, region.offset, region.byte_size) == ("r", key, 0, 8)


def test_a_nul_byte_ends_names_and_keys(key: str) -> None:
    """v1 passed C strings: a NUL byte ends them."""
    region = handle_table.lookup(shm.create_shared_memory_region("r\0x", key + "\0x", 8))
    assert (region.name, region.key) == ("r", key)


@pytest.mark.parametrize("bad", ["", "/", ".", "/..", "/a/b", "a/b", "/" + "n" * 256, b"\xff/"])
def test_unusable_keys(bad: str | bytes) -> None:
    """Code -2: bad or empty key (docs/v1-behaviour.md §7.1)."""
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
    """Codes -3 (negative size) and -4 (size 0 or huge) (docs/v1-behaviour.md §7.1)."""
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
    """byte_size float/str → ctypes.ArgumentError, argument 3; nothing is created."""
    # docs/v1-behaviour.md §7.1
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
    """Name not str/bytes → ArgumentError; None, which crashed v1, is refused too."""
    # docs/v1-behaviour.md §7.1
    with pytest.raises(ctypes.ArgumentError) as caught:
        shm.create_shared_memory_region(name, key, 8)  # type: ignore[arg-type]
    assert str(caught.value).startswith(text)


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
    """SharedMemoryException: err_code_map, _msg, args; unknown codes show the c_int."""
    # docs/v1-behaviour.md §7.1
    error = shm.SharedMemoryException(ctypes.c_int(code))
    assert str(error) == text and code_of(error) == code
    assert sorted(error.err_code_map) == [-5, -4, -3, -2]
    assert error._msg == error.err_code_map.get(code)


def test_exception_from_a_text() -> None:
    """SharedMemoryException('text'): args, _msg, no message(); it survives pickling."""
    # docs/v1-behaviour.md §7.1
    error = shm.SharedMemoryException("text")
    assert (error.args, error._msg, str(error)) == (("text",), "text", "text")
    assert not hasattr(error, "message") and type(error).__mro__[1] is Exception
    assert str(pickle.loads(pickle.dumps(error))) == "text"


@pytest.mark.parametrize("bad", [-2, None])
def test_exception_from_anything_else(bad: object) -> None:
    """v1 wanted a c_int or a str: an int has no value."""
    with pytest.raises(AttributeError, match="has no attribute 'value'"):
        shm.SharedMemoryException(bad)  # type: ignore[arg-type]

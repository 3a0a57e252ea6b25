"""Writing to and reading from system shared memory (docs/v1-behaviour.md §7.1)."""

from __future__ import annotations

import os
from typing import Iterator

import numpy as np
import pytest

import tensorrtserver.shared_memory as shm
from tests.unit.shm_regions import contents, fresh_keys, path_of, run_python
from tritonclient_shim.shm import handle_table
from tritonclient_shim.shm.region import RegionError


@pytest.fixture
def key() -> Iterator[str]:
    """A key that no other test or process uses."""
    with fresh_keys() as make:
        yield make()


def test_arrays_are_copied_one_after_another_in_c_order(key: str) -> None:
    """set: from offset 0, flattened in C order, also non-contiguous and 0-d arrays."""
    # docs/v1-behaviour.md §7.1
    handle = shm.create_shared_memory_region("r", key, 40)
    transposed = np.arange(4, dtype=np.int32).reshape(2, 2).T
    every_second = np.arange(8, dtype=np.int16)[::2]
    half = np.array([1.5], dtype=np.float16)
    zero_d = np.array(7, dtype=np.uint8)
    assert shm.set_shared_memory_region(handle, (transposed, every_second, half, zero_d)) is None
    expected = np.array([0, 2, 1, 3], np.int32).tobytes() + np.array([0, 2, 4, 6], "i2").tobytes()
    assert contents(key) == (expected + half.tobytes() + b"\x07").ljust(40, b"\0")


def test_nothing_to_copy_is_no_operation(key: str) -> None:
    """set: [] and empty arrays are no-ops (docs/v1-behaviour.md §7.1)."""
    handle = shm.create_shared_memory_region("r", key, 4)
    shm.set_shared_memory_region(handle, [np.arange(4, dtype=np.uint8)])
    for nothing in ([], (), [np.zeros(0)], [np.zeros((3, 0))], [np.zeros(2, "S0")[:0]]):
        shm.set_shared_memory_region(handle, nothing)
    assert contents(key) == b"\0\1\2\3"


def test_fixed_width_strings_keep_their_nul_bytes(key: str) -> None:
    """A serialised string tensor is a 0-d S array; its trailing NULs are data."""
    # docs/v1-behaviour.md §3.6
    handle = shm.create_shared_memory_region("r", key, 10)
    shm.set_shared_memory_region(handle, [np.array(b"\1\0\0\0a\0\0\0", dtype="S8")])
    assert contents(key) == b"\1\0\0\0a\0\0\0\0\0"


def test_serialize_string_tensor_round_trip(key: str) -> None:
    """(1.9–1.10): the function is in this module and its result goes into a region."""
    # docs/v1-behaviour.md §3.6
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
    """Its errors are SharedMemoryExceptions in this module (docs/v1-behaviour.md §3.6)."""
    with pytest.raises(shm.SharedMemoryException) as caught:
        shm.serialize_string_tensor(bad)  # type: ignore[arg-type]
    assert str(caught.value) == text


def test_object_arrays_are_refused(key: str) -> None:
    """set copied an object array's pointers; the error names the way to do it."""
    # docs/v1-behaviour.md §7.1
    handle = shm.create_shared_memory_region("r", key, 64)
    with pytest.raises(shm.SharedMemoryException, match="serialize_string_tensor"):
        shm.set_shared_memory_region(handle, [np.array(["a"], dtype=object)])
    assert contents(key) == bytes(64)


def test_overflow_raises_and_writes_nothing(key: str) -> None:
    """set had no bounds check and crashed: now an error, before anything is written."""
    # docs/v1-behaviour.md §7.1
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
    """str errors of set (1.11+); nothing is written (docs/v1-behaviour.md §7.1)."""
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
        from tritonclient_shim.shm import handle_table
        large = shm.create_shared_memory_region("large", sys.argv[1], 1 << 20)
        small = shm.create_shared_memory_region("small", sys.argv[1], 1)
        for use in (lambda: shm.set_shared_memory_region(large, [np.ones(1 << 20, np.uint8)]),
                    lambda: handle_table.lookup(large).read(4096, 8)):
            try:
                use()
            except Exception as error:
                print(type(error).__name__, "another create_shared_memory_region" in str(error))
        shm.set_shared_memory_region(small, [np.ones(1, np.uint8)])
        print(bytes(handle_table.lookup(small).read(0, 1)))
        """,
        key,
    )
    lines = ["SharedMemoryException True", "RegionError True", r"b'\x01'"]
    assert (done.stdout.splitlines(), done.returncode, done.stderr) == (lines, 0, "")
    assert os.stat(path_of(key)).st_size == 1


def test_region_read_and_write_check_their_bounds(key: str) -> None:
    """What the contexts use: read returns private copies, both refuse to leave the region."""
    region = handle_table.lookup(shm.create_shared_memory_region("r", key, 8))
    region.write([b"ab", bytearray(b"c"), np.array([1], np.uint16).data])
    assert region.read(0, 8) == b"abc\1\0\0\0\0" and region.read(8, 0) == b""
    for offset, count in [(0, 9), (8, 1), (-1, 1), (4, -1)]:
        with pytest.raises(RegionError, match="its size is 8 bytes"):
            region.read(offset, count)
    with pytest.raises(RegionError, match="its size is 8 bytes"):
        region.write([b"nine", b"bytes"])

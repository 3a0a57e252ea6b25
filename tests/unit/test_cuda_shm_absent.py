"""CUDA shared memory where something is missing, and its exception (docs/v1-behaviour.md §7.2)."""

from __future__ import annotations

import ctypes
import pickle
import re
import sys
from typing import Any

import numpy as np
import pytest

import tensorrtserver.cuda_shared_memory as cudashm

MODULE = "tritonclient.utils.cuda_shared_memory"


@pytest.fixture(autouse=True)
def not_imported() -> None:
    """Each test imports tritonclient's CUDA module afresh."""
    for name in [name for name in sys.modules if name.startswith(MODULE)]:
        del sys.modules[name]


def create_and_fail() -> Exception:
    with pytest.raises(cudashm.CudaSharedMemoryException) as caught:
        cudashm.create_shared_memory_region("r", 64, 0)
    assert caught.value.args[0].value == -1
    assert str(caught.value) == "unable to set device successfully"
    assert caught.value.__cause__ is not None
    return caught.value


def test_without_cuda_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code -1 is what a machine without a GPU gave; the cause says what to install."""
    # docs/v1-behaviour.md §7.2
    for name in ("cuda", "cuda.bindings", "cuda.bindings.runtime"):
        monkeypatch.setitem(sys.modules, name, None)
    cause = str(create_and_fail().__cause__)
    assert "cuda-python is missing" in cause and "tritonclient[cuda]" in cause


@pytest.mark.parametrize(
    "error, advice",
    [
        (ModuleNotFoundError("No module named 'pkg_resources'", name="pkg_resources"), "<81"),
        (ImportError("cannot import name 'cudart' from 'cuda'", name="cuda"), "cuda-python<13"),
        (ModuleNotFoundError("No module named 'tritonclient'", name="tritonclient"), "2.40"),
        (RuntimeError("Failed to dlopen libcuda.so.1"), "cannot be imported .*libcuda"),
    ],
)
def test_each_missing_part_is_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception, advice: str
) -> None:
    """What the older and newer tritonclients miss, and what helps (docs/v2-mapping.md §8)."""

    def refuse(name: str) -> Any:
        raise error

    monkeypatch.setattr("tritonclient_shim.shm.cuda.importlib.import_module", refuse)
    failure = create_and_fail()
    assert re.search(advice, str(failure.__cause__))
    assert failure.__cause__ is not None and failure.__cause__.__cause__ is error


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("r", 64.0, 0), "argument 2: <class 'TypeError'>: wrong type"),
        (("r", "64", 0), "argument 2: <class 'TypeError'>: wrong type"),
        (("r", 64, "0"), "argument 3: <class 'TypeError'>: wrong type"),
        (("r", 64, None), "argument 3: <class 'TypeError'>: wrong type"),
        (
            (5, 64, 0),
            "argument 1: <class 'AttributeError'>: 'int' object has no attribute 'encode'",
        ),
    ],
)
def test_arguments_of_the_wrong_type(arguments: Any, text: str) -> None:
    """v1's ctypes signature refused them before any CUDA call."""
    with pytest.raises(ctypes.ArgumentError) as caught:
        cudashm.create_shared_memory_region(*arguments)
    assert str(caught.value) == text


@pytest.mark.parametrize("handle", [None, ctypes.c_void_p(), ctypes.c_void_p(8), "x", 5.0])
def test_what_is_no_handle_is_refused(handle: Any) -> None:
    """Whatever handle is passed: CudaSharedMemoryException, no crash."""
    with pytest.raises(cudashm.CudaSharedMemoryException, match="expected the c_void_p"):
        cudashm.set_shared_memory_region(handle, [np.ones(1)])
    with pytest.raises(cudashm.CudaSharedMemoryException, match="expected the c_void_p"):
        cudashm.destroy_shared_memory_region(handle)


@pytest.mark.parametrize(
    "code, text",
    [
        (-1, "unable to set device successfully"),
        (-2, "unable to create cuda shared memory handle"),
        (-3, "unable to set values in cuda shared memory"),
        (-4, "unable to free GPU device memory"),
        (-9, "c_int(-9)"),
    ],
)
def test_exception_from_a_code(code: int, text: str) -> None:
    """CudaSharedMemoryException: err_code_map, _msg, args; unknown codes show the c_int."""
    # docs/v1-behaviour.md §7.2
    error = cudashm.CudaSharedMemoryException(ctypes.c_int(code))
    assert str(error) == text and error.args[0].value == code
    assert sorted(error.err_code_map) == [-4, -3, -2, -1]
    assert error._msg == error.err_code_map.get(code)


def test_exception_from_a_text() -> None:
    """The same shape as SharedMemoryException (docs/v1-behaviour.md §7.2)."""
    error = cudashm.CudaSharedMemoryException("text")
    assert (str(error), error.args, error._msg) == ("text", ("text",), "text")
    assert str(pickle.loads(pickle.dumps(error))) == "text"


def test_serialize_string_tensor_errors() -> None:
    """In 1.9 and 1.10 its errors are CudaSharedMemoryExceptions in this module."""
    # docs/v1-behaviour.md §3.6
    with pytest.raises(cudashm.CudaSharedMemoryException) as caught:
        cudashm.serialize_string_tensor(np.array([1]))
    assert str(caught.value) == "cannot serialize string tensor: invalid datatype"

"""Handles of shared-memory regions, and the modules' names (docs/v1-behaviour.md §7.3, §7.4)."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import tensorrtserver.cuda_shared_memory as cudashm
import tensorrtserver.shared_memory as shm
from tests.unit.shm_regions import run_python
from tritonclient_shim.shm import handle_table
from tritonclient_shim.shm.region import CUDA, SYSTEM, Region, RegionError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


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
    """A handle's type is c_void_p, as programs test; no two handles have one value."""
    # docs/v1-behaviour.md §7.4
    handles = [handle_table.add(new_region()) for _ in range(100)]
    assert {type(handle) for handle in handles} == {ctypes.c_void_p}
    assert len({handle.value for handle in handles}) == 100
    assert all(
        handle_table.lookup(handle) is handle_table.lookup(handle.value) for handle in handles
    )


def test_a_value_is_not_used_again() -> None:
    """A handle that was destroyed and lost never stands for another region."""
    old = handle_table.add(new_region())
    value = old.value
    handle_table.destroy(old, SYSTEM)
    del old
    gc.collect()
    assert value not in {handle_table.add(new_region()).value for _ in range(10)}
    with pytest.raises(RegionError, match="is unknown"):
        handle_table.lookup(ctypes.c_void_p(value))


def test_copies_of_a_handle_work() -> None:
    """c_void_p(h.value) is the same handle, also after the first object is collected."""
    first = handle_table.add(new_region())
    copy = ctypes.c_void_p(first.value)
    region = handle_table.lookup(first)
    del first
    gc.collect()
    assert handle_table.lookup(copy) is region


def test_a_destroyed_region_stays_while_its_handle_does() -> None:
    """After destroy the memory stays usable. The entry is removed with the handle."""
    # docs/v1-behaviour.md §7.1
    handle = handle_table.add(new_region())
    handle_table.destroy(ctypes.c_void_p(handle.value), SYSTEM)
    assert handle_table.lookup(handle).name == "heap"
    before = len(handle_table._entries)
    del handle
    gc.collect()
    assert len(handle_table._entries) == before - 1


def test_a_region_destroyed_by_a_copy_goes_at_once() -> None:
    """destroy through c_void_p(h.value) removes the entry, also without the handle."""
    # docs/v1-behaviour.md §7.4
    first = handle_table.add(new_region())
    copy = ctypes.c_void_p(first.value)
    del first
    gc.collect()
    handle_table.destroy(copy, SYSTEM)
    with pytest.raises(RegionError, match="is unknown"):
        handle_table.lookup(copy)


@pytest.mark.parametrize(
    "handle, text",
    [
        (None, "handle is None"),
        (ctypes.c_void_p(), "a null pointer"),
        (ctypes.c_void_p(0), "a null pointer"),
        (0, "a null pointer"),
        (ctypes.c_void_p(1), "handle 0x1 is unknown"),
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


def test_a_foreign_pointer_is_refused_without_a_crash() -> None:
    """Pointers to other memory, to none, and to freed memory are errors, without a signal."""
    done = run_python(
        """
        import ctypes, numpy as np, tensorrtserver.shared_memory as shm
        block = ctypes.create_string_buffer(64)
        for address in (ctypes.addressof(block), 8, 2**64 - 1, 2**62, id(block), None):
            for use in (lambda h: shm.set_shared_memory_region(h, [np.ones(4)]),
                        shm.destroy_shared_memory_region):
                try:
                    use(ctypes.c_void_p(address))
                except shm.SharedMemoryException:
                    continue
                raise SystemExit(f"{address} was taken")
        assert block.raw == bytes(64)
        print("alive")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "alive\n", "")


def test_a_handle_of_the_other_kind_is_refused() -> None:
    """The system module refuses a CUDA handle."""
    handle = handle_table.add(new_region(CUDA))
    with pytest.raises(shm.SharedMemoryException, match="cuda shared memory region 'heap'"):
        shm.set_shared_memory_region(handle, [np.ones(1)])
    with pytest.raises(shm.SharedMemoryException, match="a system region is needed"):
        shm.destroy_shared_memory_region(handle)


def test_threads_get_different_handles() -> None:
    """Handles that many threads make at once are all different and all known."""
    result = []

    def work() -> None:
        result.extend([handle_table.add(new_region()) for _ in range(300)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({handle.value for handle in result}) == 2400
    assert all(handle_table.lookup(handle).name == "heap" for handle in result)


@pytest.mark.parametrize("module", ["shared_memory", "cuda_shared_memory"])
def test_star_import_binds_what_v1_bound(module: str) -> None:
    """The modules have v1's names: ctypes' names, np, os, struct, partial and the functions."""
    # docs/v1-behaviour.md §7.3
    names: dict[str, Any] = {}
    exec(f"from tensorrtserver.{module} import *", names)
    expected = """
        IntEnum iteritems ndpointer np os partial pkg_resources range struct ArgumentError POINTER
        Structure byref c_char_p c_int c_uint64 c_void_p cast cdll create_shared_memory_region
        set_shared_memory_region destroy_shared_memory_region
    """
    exception = {"shared_memory": "SharedMemoryException"}.get(module, "CudaSharedMemoryException")
    assert {exception, *expected.split()} <= set(names)
    assert names["np"] is np and names["c_void_p"] is ctypes.c_void_p
    assert list(names["iteritems"]({"a": 1})) == [("a", 1)]


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


@pytest.mark.parametrize("module", MODULES)
def test_functions_show_the_legacy_module(module: Any) -> None:
    """Tracebacks and pickles name the module that scripts import."""
    for name in ("create_shared_memory_region", "set_shared_memory_region"):
        assert getattr(module, name).__module__ == module.__name__


@pytest.mark.parametrize("module", ["shared_memory", "cuda_shared_memory"])
def test_import_is_light(module: str) -> None:
    """Importing loads neither tritonclient, grpc, gevent, cuda nor setuptools, and no threads."""
    code = (
        f"import sys, threading, tensorrtserver.{module} as m\n"
        f"from tensorrtserver.{module} import *\n"
        "heavy = {'tritonclient', 'grpc', 'gevent', 'cuda', 'pkg_resources', 'multiprocessing'}\n"
        "print(sorted(heavy & set(sys.modules)), threading.active_count())"
    )
    unmeasured = {"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": ""}  # it imports some
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": ROOT, "TRITON_SHIM_WARNINGS": "off", **unmeasured},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, b"[] 1\n")


@pytest.mark.parametrize("module", ["shared_memory", "cuda_shared_memory"])
def test_each_function_gives_the_notice(module: str) -> None:
    """The deprecation notice has the user's line, for every function that is called first."""
    code = f"""
import os, warnings, tensorrtserver.{module} as shm
os.environ["TRITON_SHIM_WARNINGS"] = "headline"
from tritonclient_shim import notice
calls = (lambda: shm.create_shared_memory_region(*[None] * 3),
         lambda: shm.set_shared_memory_region(None, []),
         lambda: shm.destroy_shared_memory_region(None),
         lambda: shm.serialize_string_tensor(None))
for call in calls:
    notice.forget()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except Exception:
            pass
    print([(one.category.__name__, one.filename) for one in caught])
"""
    done = run_python(code)
    line = "[('TensorRTServerDeprecationWarning', '<string>')]\n"
    assert (done.returncode, done.stdout) == (0, 4 * line)

"""CUDA shared memory with a simulated CUDA runtime, and without one (docs/v1-behaviour.md §7.2)."""

from __future__ import annotations

import ctypes
import enum
import re
import sys
from types import ModuleType
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import tensorrtserver.cuda_shared_memory as cudashm
from tritonclient_shim.shm import regions
from tritonclient_shim.shm.regions import RegionError

MODULE = "tritonclient.utils.cuda_shared_memory"


class cudaError_t(enum.IntEnum):
    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorMemoryAllocation = 2
    cudaErrorNoDevice = 100
    cudaErrorInvalidDevice = 101


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0


class IpcHandle:
    """cudaIpcMemHandle_t: 64 bytes behind getPtr(), and before cuda-bindings 13 `.reserved`."""

    def __init__(self, raw: bytes, with_reserved: bool) -> None:
        self._buffer = ctypes.create_string_buffer(raw, len(raw))
        if with_reserved:
            self.reserved = raw

    def getPtr(self) -> int:  # noqa: N802 - cuda-python's name
        return ctypes.addressof(self._buffer)


class FakeCuda:
    """The CUDA runtime as in cuda-python: functions that return (status, value...)."""

    def __init__(self, devices: int, with_reserved: bool = True) -> None:
        self.devices = devices
        self.with_reserved = with_reserved
        self.current = 0
        self.memory: dict[int, Any] = {}
        self.failing: set[str] = set()
        self.used_devices = {0}

    def runtime(self) -> ModuleType:
        module = ModuleType("fake cuda runtime")
        for name in dir(self):
            if name.startswith("cuda"):
                setattr(module, name, getattr(self, name))
        module.cudaError_t = cudaError_t  # type: ignore[attr-defined]
        module.cudaIpcMemHandle_t = IpcHandle  # type: ignore[attr-defined]
        module.CUDA_IPC_HANDLE_SIZE = 64  # type: ignore[attr-defined]
        module.cudaMemcpyKind = enum.Enum("cudaMemcpyKind", "cudaMemcpyDefault")  # type: ignore
        attributes = ("cudaDeviceAttr", "cudaDevAttrUnifiedAddressing")
        module.cudaDeviceAttr = enum.Enum(*attributes)  # type: ignore
        return module

    def driver(self) -> ModuleType:
        module = ModuleType("fake cuda driver")
        module.CUresult = CUresult  # type: ignore[attr-defined]
        module.cuDeviceGet = lambda device: (CUresult(0), device)  # type: ignore[attr-defined]
        module.cuDevicePrimaryCtxGetState = (  # type: ignore[attr-defined]
            lambda device: (CUresult(0), 0, int(device in self.used_devices))
        )
        return module

    def _status(self, name: str) -> cudaError_t:
        return cudaError_t(1) if name in self.failing else cudaError_t(0)

    def cudaGetErrorString(self, error: cudaError_t) -> Any:
        return cudaError_t(0), f"simulated {error.name}".encode()

    def cudaGetDevice(self) -> Any:
        return (cudaError_t(0), self.current) if self.devices else (cudaError_t(100), None)

    def cudaSetDevice(self, device: int) -> Any:
        if not 0 <= device < self.devices:
            return (cudaError_t(101),)
        self.current = device
        self.used_devices.add(device)
        return (cudaError_t(0),)

    def cudaMalloc(self, size: int) -> Any:
        if size > 1 << 30:
            return cudaError_t(2), None
        buffer = ctypes.create_string_buffer(size)
        self.memory[ctypes.addressof(buffer)] = (buffer, self.current)
        return cudaError_t(0), ctypes.addressof(buffer)

    def cudaFree(self, pointer: int) -> Any:
        del self.memory[pointer]
        return (cudaError_t(0),)

    def cudaIpcGetMemHandle(self, pointer: int) -> Any:
        return cudaError_t(0), IpcHandle(bytes(range(64)), self.with_reserved)

    def cudaMemcpyAsync(self, to: Any, source: Any, size: int, *_: Any) -> Any:
        status = self._status("cudaMemcpyAsync")
        if status == cudaError_t.cudaSuccess:
            ctypes.memmove(to, source, size)
        return (status,)

    def cudaDeviceGetAttribute(self, *_: Any) -> Any:
        return cudaError_t(0), 1

    def cudaStreamCreate(self) -> Any:
        return cudaError_t(0), object()

    def cudaStreamDestroy(self, stream: Any) -> Any:
        return (cudaError_t(0),)

    cudaStreamSynchronize = cudaStreamDestroy


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeCuda]]:
    """Make ``import cuda`` return a FakeCuda, in both layouts that tritonclients import."""

    def forget() -> None:
        for name in [name for name in sys.modules if name.startswith(MODULE)]:
            del sys.modules[name]

    def put(devices: int = 2, with_reserved: bool = True) -> FakeCuda:
        fake = FakeCuda(devices, with_reserved)
        runtime, driver = fake.runtime(), fake.driver()
        bindings, cuda = ModuleType("cuda.bindings"), ModuleType("cuda")
        vars(bindings).update(runtime=runtime, driver=driver)
        vars(cuda).update(bindings=bindings, cudart=runtime, cuda=driver)
        layout = {
            "cuda": cuda,
            "cuda.cudart": runtime,
            "cuda.cuda": driver,
            "cuda.bindings": bindings,
            "cuda.bindings.runtime": runtime,
            "cuda.bindings.driver": driver,
        }
        for name, module in layout.items():
            monkeypatch.setitem(sys.modules, name, module)
        return fake

    forget()
    yield put
    forget()


def code_of(error: Exception) -> int:
    return int(error.args[0].value)


@pytest.mark.parametrize("with_reserved", [True, False])  # cuda-bindings 13 lacks `.reserved`
@pytest.mark.smoke
def test_create_gives_a_handle_with_the_ipc_bytes(
    install: Callable[..., FakeCuda], with_reserved: bool
) -> None:
    """create returns a c_void_p. The region has size, device and 64 raw bytes for cuda_register."""
    # docs/v1-behaviour.md §7.2
    fake = install(with_reserved=with_reserved)
    handle = cudashm.create_shared_memory_region("r", 24, 1)
    region = regions.lookup(handle)
    assert type(handle) is ctypes.c_void_p
    assert (region.kind, region.name, region.byte_size, region.device_id) == ("cuda", "r", 24, 1)
    assert region.raw_handle == bytes(range(64))
    assert [device for _, device in fake.memory.values()] == [1]
    cudashm.set_shared_memory_region(handle, [np.ones(8, np.uint8)])
    cudashm.destroy_shared_memory_region(handle)
    assert fake.current == 0  # the device that was current before


def test_set_and_read_back(install: Callable[..., FakeCuda]) -> None:
    """set writes arrays one after another in C order; results are copies from device to host."""
    # docs/v1-behaviour.md §7.2
    install()
    handle = cudashm.create_shared_memory_region("r", 16, 0)
    strings = cudashm.serialize_string_tensor(np.array(["a"], dtype=object))
    transposed = np.arange(4, dtype=np.int16).reshape(2, 2).T
    assert cudashm.set_shared_memory_region(handle, [transposed, strings, np.zeros(0)]) is None
    expected = np.array([0, 2, 1, 3], np.int16).tobytes() + b"\1\0\0\0a"
    assert regions.lookup(handle).read(0, 13) == expected
    assert regions.lookup(handle).read(8, 5) == b"\1\0\0\0a"


@pytest.mark.parametrize("module", ["tensorrtserver.cuda_shared_memory", MODULE])
def test_destroy_frees_once(install: Callable[..., FakeCuda], module: str) -> None:
    """destroy calls cudaFree. A second destroy is -4, a set -3, a read an error."""
    # docs/v1-behaviour.md §7.2
    fake = install()
    handle = cudashm.create_shared_memory_region("r", 8, 0)
    freeing: Any = sys.modules[module]
    theirs = module == MODULE and freeing.allocated_shared_memory_regions()[0]
    assert freeing.destroy_shared_memory_region(theirs or handle) is None
    assert theirs or fake.memory == {}  # a test that keeps their objects keeps the memory
    with pytest.raises(cudashm.CudaSharedMemoryException) as caught:
        cudashm.destroy_shared_memory_region(handle)
    assert (code_of(caught.value), str(caught.value)) == (-4, "unable to free GPU device memory")
    with pytest.raises(cudashm.CudaSharedMemoryException) as caught:
        cudashm.set_shared_memory_region(handle, [np.ones(1)])
    assert code_of(caught.value) == -3
    with pytest.raises(RegionError, match="failed to read GPU shared memory results: .*destroyed"):
        regions.lookup(handle).read(0, 8)


@pytest.mark.parametrize("devices, device", [(0, 0), (2, 2), (2, -1)])
def test_no_such_device(install: Callable[..., FakeCuda], devices: int, device: int) -> None:
    """Without a usable device the code is -1, and the cause says that a GPU is needed."""
    # docs/v1-behaviour.md §7.2
    install(devices=devices)
    with pytest.raises(cudashm.CudaSharedMemoryException) as caught:
        cudashm.create_shared_memory_region("r", 8, device)
    assert (code_of(caught.value), str(caught.value)) == (-1, "unable to set device successfully")
    assert f"no usable CUDA device {device}" in str(caught.value.__cause__)
    assert "simulated cudaError" in str(caught.value.__cause__)


def test_refused_allocation(install: Callable[..., FakeCuda]) -> None:
    """If no memory can be allocated the code is -2, also for -1 bytes, 2**64 - 1."""
    # docs/v1-behaviour.md §7.2
    install()
    with pytest.raises(cudashm.CudaSharedMemoryException) as caught:
        cudashm.create_shared_memory_region("r", -1, 0)
    assert code_of(caught.value) == -2
    assert str(caught.value) == "unable to create cuda shared memory handle"


def test_refused_copies(install: Callable[..., FakeCuda]) -> None:
    """If set fails the code is -3; unreadable results have v1's text."""
    # docs/v1-behaviour.md §7.2, §4.3
    fake = install()
    handle = cudashm.create_shared_memory_region("r", 8, 0)
    fake.failing.add("cudaMemcpyAsync")
    with pytest.raises(cudashm.CudaSharedMemoryException) as caught:
        cudashm.set_shared_memory_region(handle, [np.ones(1)])
    assert code_of(caught.value) == -3
    assert str(caught.value) == "unable to set values in cuda shared memory"
    with pytest.raises(RegionError, match="^failed to read GPU shared memory results: "):
        regions.lookup(handle).read(0, 8)


def test_overflow_raises_and_writes_nothing(install: Callable[..., FakeCuda]) -> None:
    """More bytes than the region has are refused before any copy. v1 had no check."""
    install()
    handle = cudashm.create_shared_memory_region("region", 7, 0)
    with pytest.raises(cudashm.CudaSharedMemoryException, match="'region'.*7 bytes"):
        cudashm.set_shared_memory_region(handle, [np.ones(8, np.uint8)])
    assert regions.lookup(handle).read(0, 7) == bytes(7)


@pytest.fixture(autouse=True)
def not_imported() -> None:
    """Import tritonclient's CUDA module afresh in each test."""
    for name in [name for name in sys.modules if name.startswith(MODULE)]:
        del sys.modules[name]


def create_and_fail() -> Exception:
    with pytest.raises(cudashm.CudaSharedMemoryException) as caught:
        cudashm.create_shared_memory_region("r", 64, 0)
    assert caught.value.args[0].value == -1
    assert str(caught.value) == "unable to set device successfully"
    assert caught.value.__cause__ is not None
    return caught.value


@pytest.mark.smoke
def test_without_cuda_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU the code is -1, and the cause says what to install."""
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
    """The error names what older and newer tritonclients lack (docs/v2-mapping.md §8)."""

    def refuse(name: str) -> Any:
        raise error

    monkeypatch.setattr("tritonclient_shim.shm.cuda.importlib.import_module", refuse)
    failure = create_and_fail()
    assert re.search(advice, str(failure.__cause__))
    assert failure.__cause__ is not None and failure.__cause__.__context__ is error


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("r", 64.0, 0), "argument 2: <class 'TypeError'>: wrong type"),
        (("r", 64, "0"), "argument 3: <class 'TypeError'>: wrong type"),
        (
            (5, 64, 0),
            "argument 1: <class 'AttributeError'>: 'int' object has no attribute 'encode'",
        ),
    ],
)
def test_arguments_of_the_wrong_type(arguments: Any, text: str) -> None:
    """Arguments that v1's ctypes signature refused are refused before any CUDA call."""
    with pytest.raises(ctypes.ArgumentError) as caught:
        cudashm.create_shared_memory_region(*arguments)
    assert str(caught.value) == text

"""CUDA shared-memory regions over tritonclient's module, for every tritonclient supported.

The only place that imports ``tritonclient.utils.cuda_shared_memory``, and only when a
region is created. Where tritonclients differ (docs/v2-mapping.md §8): up to 2.59 they import
``cuda.cudart`` (cuda-python < 13) and ``pkg_resources``; later ones ``cuda.bindings``; up to
2.71 they read the IPC handle from ``.reserved``, which cuda-bindings 13 no longer has.

Not run on a GPU yet: docs/cuda_shared_memory.md says what was run and what was not.
"""

from __future__ import annotations

import base64
import ctypes
import importlib
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from tritonclient_shim.shm.regions import CUDA, Region, RegionError

#: v1's error codes and texts (docs/v1-behaviour.md §7.2).
NO_DEVICE = -1
NO_HANDLE = -2
NO_SET = -3
NO_FREE = -4
MESSAGES = {
    NO_DEVICE: "unable to set device successfully",
    NO_HANDLE: "unable to create cuda shared memory handle",
    NO_SET: "unable to set values in cuda shared memory",
    NO_FREE: "unable to free GPU device memory",
}

#: What to do when a module that tritonclient's CUDA support needs is missing.
_ADVICE = {
    "cuda": (
        "the Python package cuda-python is missing or does not fit this tritonclient: install "
        "'tritonclient[cuda]', or cuda-python ('cuda-python<13' for tritonclient before 2.62)"
    ),
    "pkg_resources": "this tritonclient needs pkg_resources: install 'setuptools<81'",
    "tritonclient": "tritonclient is missing: install 2.40 or later",
}
_IPC_HANDLE_BYTES = 64


def create(name: str, byte_size: int, device_id: int) -> CudaRegion:
    """Allocate ``byte_size`` bytes on GPU ``device_id`` → their region.

    RegionError -1 without cuda-python, a driver or that GPU (the text says which), and -2 when
    the allocation or its IPC handle is refused. The current device stays the same.
    """
    module = _tritonclient_module()
    _try_device(module, device_id)
    try:
        handle = module.create_shared_memory_region(name, byte_size, device_id)
    except module.CudaSharedMemoryException as error:
        raise _coded(NO_HANDLE, error) from error
    raw_handle = _raw_handle(module, handle)
    return CudaRegion(name, byte_size, "", device_id, raw_handle, module, handle)


@dataclass(eq=False)
class CudaRegion(Region):
    """Device memory behind tritonclient's region object; freed by ``destroy`` (cudaFree)."""

    _module: Any = None
    _handle: Any = None
    kind = CUDA

    def _read(self, offset: int, count: int) -> memoryview:
        """Copy the region to the host and return ``count`` of its bytes.

        RegionError with v1's text for results that cannot be read (docs/v1-behaviour.md §4.3).
        """
        prefix = "failed to read GPU shared memory results"
        if self._handle is None:
            raise RegionError(f"{prefix}: region '{self.name}' was destroyed")
        try:
            contents = self._module.get_contents_as_numpy(self._handle, np.uint8, [self.byte_size])
        except self._module.CudaSharedMemoryException as error:
            raise RegionError(f"{prefix}: {error}") from error
        copy: memoryview = contents[offset : offset + count].data
        return copy

    def _write(self, views: Sequence[memoryview]) -> None:
        """Copy the views to the device; RegionError -3 when CUDA refuses."""
        if self._handle is None:
            raise _coded(NO_SET, f"region '{self.name}' was destroyed")
        try:
            arrays = [np.frombuffer(view, np.uint8) for view in views]
            self._module.set_shared_memory_region(self._handle, arrays)
        except self._module.CudaSharedMemoryException as error:
            raise _coded(NO_SET, error) from error

    def destroy(self) -> None:
        """Free the device memory; RegionError -4 if it was freed before."""
        # tritonclient frees the memory with the last reference to its region: keep none.
        handle, self._handle = self._handle, None
        if handle is None:
            raise _coded(NO_FREE, f"region '{self.name}' was already destroyed")
        try:
            self._module.destroy_shared_memory_region(handle)
        except ValueError as error:  # it was destroyed through tritonclient
            raise _coded(NO_FREE, error) from error


def _tritonclient_module() -> Any:
    try:
        return importlib.import_module("tritonclient.utils.cuda_shared_memory")
    except (ImportError, RuntimeError) as error:  # RuntimeError: tritonclient's own check
        missing = getattr(error, "name", None) or getattr(error.__cause__, "name", None) or ""
        unknown = "tritonclient's CUDA module cannot be imported"
        advice = _ADVICE.get(missing.split(".")[0], unknown)
        raise _coded(NO_DEVICE, f"{advice} ({error})") from error


def _try_device(module: Any, device_id: int) -> None:
    """Select the GPU and go back: this fails where there is none, before an allocation does."""
    # v1 selected the device first, and -1 is what a machine without a GPU gave
    # (docs/v1-behaviour.md §7.2).
    cudart = module.cudart
    try:
        previous = _call(cudart, cudart.cudaGetDevice)
        _call(cudart, cudart.cudaSetDevice, device_id)
        if previous != device_id:
            module.maybe_set_device(previous)  # it skips a GPU that is not in use yet
    except RuntimeError as error:  # also cuda-python's own, when the driver library is missing
        advice = f"no usable CUDA device {device_id}: a GPU and its driver are needed"
        raise _coded(NO_DEVICE, f"{advice} ({error})") from error


def _call(cudart: Any, function: Any, *arguments: Any) -> Any:
    """Call a CUDA runtime function → its value; RuntimeError with CUDA's words if refused."""
    status, *values = function(*arguments)
    if status != cudart.cudaError_t.cudaSuccess:
        _, words = cudart.cudaGetErrorString(status)
        raise RuntimeError(words.decode("utf-8", "replace"))
    return values[0] if values else None


def _raw_handle(module: Any, handle: Any) -> bytes:
    """Return the 64 bytes of the region's CUDA IPC handle."""
    try:
        return base64.b64decode(module.get_raw_handle(handle))
    except AttributeError:  # tritonclient up to 2.71 with cuda-bindings 13: no `.reserved`
        address = handle._cuda_shm_handle.getPtr()
        return ctypes.string_at(address, _IPC_HANDLE_BYTES)


def _coded(code: int, reason: object) -> RegionError:
    return RegionError(f"{MESSAGES[code]}: {reason}", code)

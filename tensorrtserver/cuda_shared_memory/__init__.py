"""CUDA shared memory for inputs and outputs of inference.

This is the retired client's ``tensorrtserver.cuda_shared_memory``. It can be imported on any
machine. Its functions need a GPU, its driver and cuda-python, and say so where one of these is
missing. They were not run on a GPU yet.
"""

from __future__ import annotations

from ctypes import c_int, c_void_p

import numpy as np

from tritonclient_shim import notice
from tritonclient_shim.core import arguments
from tritonclient_shim.core.tracebacks import ShortTraceback
from tritonclient_shim.registry.star_names import STAR_NAMES
from tritonclient_shim.shm import cuda, regions
from tritonclient_shim.shm.regions import CUDA, RaisedAs

# v1 had no __all__: `import *` bound the names of STAR_NAMES, too (docs/v1-behaviour.md §7.3).
globals().update(STAR_NAMES)
__all__ = [
    "CudaSharedMemoryException",
    "create_shared_memory_region",
    "destroy_shared_memory_region",
    "serialize_string_tensor",
    "set_shared_memory_region",
    *sorted(STAR_NAMES),
]


class CudaSharedMemoryException(Exception):
    """A CUDA shared-memory operation failed; see ``__cause__``.

    Parameters
    ----------
    err : ctypes.c_int or str
        v1's error code, -1 to -4, or the message itself. An unknown code reads ``c_int(-9)``.

    Raises
    ------
    AttributeError, TypeError
        `err` is neither, as in v1.
    """

    def __init__(self, err: c_int | str) -> None:
        self.err_code_map = dict(cuda.MESSAGES)
        self._msg = err if isinstance(err, str) else self.err_code_map.get(err.value)

    def __str__(self) -> str:
        return super().__str__() if self._msg is None else self._msg


_short_traceback = ShortTraceback(lambda: (arguments.ArgumentError, CudaSharedMemoryException))


def create_shared_memory_region(
    trtis_shm_name: str | bytes, byte_size: int, device_id: int
) -> c_void_p:
    """Create a region in a GPU's memory.

    Deprecated [TS086], see ``tritonclient-shim guide cuda-shared-memory``. Instead:
    tritonclient.utils.cuda_shared_memory.create_shared_memory_region(name, byte_size, device_id).

    Parameters
    ----------
    trtis_shm_name : str or bytes
        Name under which the server will know the region.
    byte_size : int
        Size in bytes.
    device_id : int
        The GPU's number.

    Returns
    -------
    ctypes.c_void_p
        The region's handle.

    Raises
    ------
    CudaSharedMemoryException
        With v1's error codes: -1, cuda-python, the driver or the GPU is missing; -2, the memory
        cannot be allocated.
    ctypes.ArgumentError
        `trtis_shm_name` is neither str nor bytes, or `byte_size` or `device_id` is no integer.
    """
    notice.used("TS086")
    with _short_traceback, RaisedAs(CudaSharedMemoryException):
        name = arguments.c_string(trtis_shm_name, 1)
        size = arguments.unsigned(byte_size, arguments.UINT64, 2)
        device = arguments.signed(device_id, arguments.UINT32, 3)
        return regions.add(cuda.create(name, size, device))


def set_shared_memory_region(
    cuda_shm_handle: c_void_p, input_values: list[np.ndarray] | tuple[np.ndarray, ...]
) -> None:
    """Copy arrays into a region, one after another from its beginning, in C order.

    Deprecated [TS087], see ``tritonclient-shim guide cuda-shared-memory``. Instead:
    tritonclient.utils.cuda_shared_memory.set_shared_memory_region(handle, arrays).

    Parameters
    ----------
    cuda_shm_handle : ctypes.c_void_p
        Handle from ``create_shared_memory_region``.
    input_values : list or tuple of numpy.ndarray
        Arrays of any shape and any dtype but object; string tensors as
        ``serialize_string_tensor`` returns them. Their bytes are copied without conversion.

    Raises
    ------
    CudaSharedMemoryException
        -3: CUDA refused the copy. Without a code: `input_values` is no list of arrays, contains
        an object array or has more bytes than the region, and nothing is written; or
        `cuda_shm_handle` is no handle of this module.
    """
    notice.used("TS087")
    # These two texts name the wrong type, in every version of v1 (docs/v1-behaviour.md §7.2).
    if not isinstance(input_values, (list, tuple)):
        raise CudaSharedMemoryException("input_values must be specified as a numpy array")
    if not all(isinstance(value, np.ndarray) for value in input_values):
        raise CudaSharedMemoryException(
            "input_values must be specified as a list/tuple of numpy arrays"
        )
    with _short_traceback, RaisedAs(CudaSharedMemoryException):
        regions.lookup(cuda_shm_handle, CUDA).write_arrays(input_values)


def destroy_shared_memory_region(cuda_shm_handle: c_void_p) -> None:
    """Free the region's GPU memory, which the server must no longer use.

    Deprecated [TS088], see ``tritonclient-shim guide cuda-shared-memory``. Instead:
    tritonclient.utils.cuda_shared_memory.destroy_shared_memory_region(handle).

    Parameters
    ----------
    cuda_shm_handle : ctypes.c_void_p
        Handle from ``create_shared_memory_region``.

    Raises
    ------
    CudaSharedMemoryException
        -4: it was freed before. Without a code: `cuda_shm_handle` is no handle of this module.
    """
    notice.used("TS088")
    with _short_traceback, RaisedAs(CudaSharedMemoryException):
        regions.destroy(cuda_shm_handle, CUDA)


def serialize_string_tensor(input_tensor: np.ndarray) -> np.ndarray:
    """Serialize a string tensor, for a shared-memory region.

    Deprecated [TS089], see ``tritonclient-shim guide cuda-shared-memory``. Instead:
    tritonclient.utils.serialize_byte_tensor(array), whose size is
    tritonclient.utils.serialized_byte_size(...) of it.

    This function is that of 1.9 and 1.10. Later releases have it in ``tensorrtserver.api``, with
    equal parameters and results.

    Raises
    ------
    CudaSharedMemoryException
        `input_tensor` is no array, is empty, or has another dtype.
    """
    notice.used("TS089")
    from tritonclient_shim.translate import request

    return request.serialize_string_tensor(input_tensor, CudaSharedMemoryException)

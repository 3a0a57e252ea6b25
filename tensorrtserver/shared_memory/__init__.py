"""System shared memory for inputs and outputs of inference.

This is the retired client's ``tensorrtserver.shared_memory``, with the same names, signatures,
results and exceptions. A region's handle is a ``ctypes.c_void_p``, which
``SharedMemoryControlContext`` and ``InferContext.run`` accept.
"""

from __future__ import annotations

from ctypes import c_int, c_void_p

import numpy as np

from tritonclient_shim import notice
from tritonclient_shim.core import arguments
from tritonclient_shim.core.tracebacks import ShortTraceback
from tritonclient_shim.registry.star_names import STAR_NAMES
from tritonclient_shim.shm import regions, system
from tritonclient_shim.shm.regions import SYSTEM, RaisedAs

# v1 had no __all__: `import *` bound the names of STAR_NAMES, too (docs/v1-behaviour.md §7.3).
globals().update(STAR_NAMES)
__all__ = [
    "SharedMemoryException",
    "create_shared_memory_region",
    "destroy_shared_memory_region",
    "serialize_string_tensor",
    "set_shared_memory_region",
    *sorted(STAR_NAMES),
]


class SharedMemoryException(Exception):
    """A shared-memory operation failed.

    Parameters
    ----------
    err : ctypes.c_int or str
        v1's error code, -2 to -5, or the message itself. An unknown code reads ``c_int(-9)``.

    Raises
    ------
    AttributeError, TypeError
        `err` is neither, as in v1.
    """

    def __init__(self, err: c_int | str) -> None:
        self.err_code_map = dict(system.MESSAGES)
        self._msg = err if isinstance(err, str) else self.err_code_map.get(err.value)

    def __str__(self) -> str:
        return super().__str__() if self._msg is None else self._msg


_short_traceback = ShortTraceback(lambda: (arguments.ArgumentError, SharedMemoryException))


def create_shared_memory_region(
    trtis_shm_name: str | bytes, shm_key: str | bytes, byte_size: int
) -> c_void_p:
    """Create a system shared-memory region, or attach to an existing one and resize it.

    Deprecated [TS081], see ``tritonclient-shim guide system-shared-memory``. Instead:
    tritonclient.utils.shared_memory.create_shared_memory_region(name, key, byte_size).

    The region stays in the system until ``destroy_shared_memory_region``, also after the end of
    this process.

    Parameters
    ----------
    trtis_shm_name : str or bytes
        Name under which the server will know the region.
    shm_key : str or bytes
        Key of the POSIX shared-memory object, usually ``/name``.
    byte_size : int
        Size in bytes, at least 1. An existing region is made larger or smaller.

    Returns
    -------
    ctypes.c_void_p
        The region's handle.

    Raises
    ------
    SharedMemoryException
        With v1's error codes: -2, the key cannot be used; -3, the size is negative; -4, the size
        is 0 or more than can be mapped.
    ctypes.ArgumentError
        `trtis_shm_name` or `shm_key` is neither str nor bytes, or `byte_size` is no integer.
    """
    notice.used("TS081")
    with _short_traceback, RaisedAs(SharedMemoryException):
        name = arguments.c_string(trtis_shm_name, 1)
        key = arguments.c_string(shm_key, 2)
        size = arguments.unsigned(byte_size, arguments.UINT64, 3)
        return regions.add(system.create(name, key, size))


def set_shared_memory_region(
    shm_handle: c_void_p, input_values: list[np.ndarray] | tuple[np.ndarray, ...]
) -> None:
    """Copy arrays into a region, one after another from its beginning, in C order.

    Deprecated [TS082], see ``tritonclient-shim guide system-shared-memory``. Instead:
    tritonclient.utils.shared_memory.set_shared_memory_region(handle, arrays).

    Parameters
    ----------
    shm_handle : ctypes.c_void_p
        Handle from ``create_shared_memory_region``.
    input_values : list or tuple of numpy.ndarray
        Arrays of any shape and any dtype but object; string tensors as
        ``serialize_string_tensor`` returns them. Their bytes are copied without conversion.

    Raises
    ------
    SharedMemoryException
        `input_values` is no list of arrays, contains an object array or has more bytes than the
        region; nothing is written then, where v1 crashed. Or `shm_handle` is no handle of this
        module.
    """
    notice.used("TS082")
    if not isinstance(input_values, (list, tuple)):
        raise SharedMemoryException(
            "input_values must be specified as a list/tuple of numpy arrays"
        )
    if not all(isinstance(value, np.ndarray) for value in input_values):
        raise SharedMemoryException("each element of input_values must be a numpy array")
    with _short_traceback, RaisedAs(SharedMemoryException):
        regions.lookup(shm_handle, SYSTEM).write_arrays(input_values)


def destroy_shared_memory_region(shm_handle: c_void_p) -> None:
    """Remove the region's key from the system; its memory stays usable where it is in use.

    Deprecated [TS083], see ``tritonclient-shim guide system-shared-memory``. Instead:
    tritonclient.utils.shared_memory.destroy_shared_memory_region(handle).

    Parameters
    ----------
    shm_handle : ctypes.c_void_p
        Handle from ``create_shared_memory_region``.

    Raises
    ------
    SharedMemoryException
        -5: the key does not exist (any more). Without a code: `shm_handle` is no handle of this
        module.
    """
    notice.used("TS083")
    with _short_traceback, RaisedAs(SharedMemoryException):
        regions.destroy(shm_handle, SYSTEM)


def serialize_string_tensor(input_tensor: np.ndarray) -> np.ndarray:
    """Serialize a string tensor, for a shared-memory region.

    Deprecated [TS084], see ``tritonclient-shim guide system-shared-memory``. Instead:
    tritonclient.utils.serialize_byte_tensor(array), whose size is
    tritonclient.utils.serialized_byte_size(...) of it.

    This function is that of 1.9 and 1.10. Later releases have it in ``tensorrtserver.api``, with
    equal parameters and results.

    Raises
    ------
    SharedMemoryException
        `input_tensor` is no array, is empty, or has another dtype.
    """
    notice.used("TS084")
    from tritonclient_shim.translate import request

    return request.serialize_string_tensor(input_tensor, SharedMemoryException)

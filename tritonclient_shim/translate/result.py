"""V1Reply → what ``InferContext.run`` returns: a list with one entry per batch entry
(docs/v1-behaviour.md §4).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import Buffer, V1Reply, V1Result
from tritonclient_shim.core.reading import read
from tritonclient_shim.translate.request import Options

Array = Any  # np.ndarray of any dtype
MAX_DIMS = 16
#: A result is copied if it would keep a buffer that is more than this many times larger.
MOST_TIMES = 3
#: A buffer of at most this many bytes may be kept by each of its results: copies cost more.
KEPT_WHOLE = 512 << 10


def results_of(options: Options, reply: V1Reply, client_id: int = 0) -> dict[Any, list[Any]]:
    """Return ``{the caller's key: [entry, …]}``, in the order of ``outputs``.

    Entries are private writable arrays (RAW) or lists of ``(index, value, label)`` (CLASS). A batch
    size of 0 ran the model once and returns empty lists (docs/v1-behaviour.md §3.5). ``client_id``
    is that of an asynchronous request.
    """
    results: dict[Any, list[Any]] = {}
    by_name = {result.name: result for result in reply.outputs}
    asked = options.batch_size
    for requested in options.outputs:
        output = requested.output
        region = requested.region
        # One output under two keys: v1 gave it to the first and missed it for the second.
        result = by_name.pop(output.name, None)
        if result is None:
            # docs/v1-behaviour.md §A: with its last result v1 forgot an asynchronous request.
            if client_id and results and not by_name:
                raise InferenceServerException(f"unable to find results for request '{client_id}'")
            raise InferenceServerException(f"unable to find result for output '{output.name}'")
        if region is not None and not asked:
            # docs/v1-behaviour.md §3.5: the region's size was divided by the batch size that was
            # asked for.
            raise ZeroDivisionError("division by zero")
        if output.form.is_classes:
            entries = _classes(result, asked)
        elif result.classes is not None:  # one output under two keys: v1 kept the last format
            raise InferenceServerException(
                f"raw shape not available for non-RAW output '{result.name}'"
            )
        elif len(result.dims) > MAX_DIMS:
            raise InferenceServerException(
                f"number of dimensions in result shape exceeds maximum of {MAX_DIMS}"
            )
        elif region is not None and result.data is None:
            entries = _from_region(region, result, reply.batch_size)
        else:
            data = result.data or b""
            entries = read(arrays, result.datatype, result.dims, data, reply.batch_size)
        results[requested.key] = entries if asked else []
    return results


def _classes(result: V1Result, asked: int) -> list[Any]:
    # (CLASS, 0): the server returned the tensor, v1 looked for classes (docs/v1-behaviour.md §3.8)
    if result.classes is None and asked:
        raise InferenceServerException(
            f"unexpected batch entry 0 requested for output '{result.name}', batch size is {asked}"
        )
    return list(result.classes or ())


def arrays(datatype: str, dims: tuple[int, ...], data: Buffer, rows: int) -> list[Array]:
    """Return one array of shape ``dims`` per batch entry, from the bytes of a whole batch.

    The arrays are writable and the caller's own. They keep no memory of large other entries and
    outputs. Raise ValueError if the bytes do not fit;
    :func:`~tritonclient_shim.core.reading.read` makes an error of it.
    """
    row = dtypes.BY_V2.get(datatype)
    if row is None or row.numpy is None:
        raise InferenceServerException(
            f"unknown result datatype {row.number if row else datatype!r}: expected one of v1's "
            "TYPE_BOOL … TYPE_STRING; ask for an output of such a type"
        )
    if row is dtypes.STRING:
        return _string_arrays(byte_strings.deserialize(data), dims, rows)
    received = len(data) if type(data) is bytes else memoryview(data.obj).nbytes
    # An entry is a small part of a large buffer.
    is_small_part = received > KEPT_WHOLE and received * rows > MOST_TIMES * len(data)
    if type(data) is bytes and not is_small_part:
        data = bytearray(data)  # a writable copy; NumPy's takes longer
    # NumPy refuses an empty buffer.
    batch = np.frombuffer(data, row.numpy) if len(data) else np.empty(0, row.numpy)
    if not (is_small_part or batch.flags.carray):
        batch = batch.copy()
    if rows == 1:
        return [(batch.copy() if is_small_part else batch).reshape(dims)]
    if not dims:  # a row of the batch would be a number, no array
        parts = [batch[i : i + 1] for i in range(rows)]
        return [(part.copy() if is_small_part else part).reshape(dims) for part in parts]
    entries = batch.reshape((rows, *dims))
    if is_small_part:
        # As in v1, no entry owns its memory (docs/v1-behaviour.md §4.1).
        return [entry.copy()[...] for entry in entries]
    return list(entries)


def _string_arrays(values: list[bytes], dims: tuple[int, ...], rows: int) -> list[Array]:
    count = prod(dims)
    if len(values) != rows * count:
        raise ValueError(f"cannot reshape array of size {len(values)} into shape {(rows, *dims)}")
    entries = []
    for i in range(rows):
        entry = np.empty(count, dtype=object)
        entry[:] = values[i * count : (i + 1) * count]
        entries.append(entry.reshape(dims))
    return entries


def _from_region(region: Any, result: V1Result, rows: int) -> list[Array]:
    """Return private copies of a result in a region (docs/v1-behaviour.md §4.3, since 1.11)."""
    total = rows * prod(result.dims)
    string = result.datatype == dtypes.STRING.v2
    if total == 0:
        # docs/v1-behaviour.md §4.3: an empty numeric result stood twice in the list, an empty
        # string result failed.
        if string:
            raise ValueError(f"cannot reshape array of size 1 into shape {result.dims}")
        return arrays(result.datatype, result.dims, b"", rows) * 2
    data = region.read(0, region.byte_size if string else result.byte_size)
    if string:
        data = memoryview(data)[: read(byte_strings.wire_length, data, total)]
    return read(arrays, result.datatype, result.dims, data, rows)

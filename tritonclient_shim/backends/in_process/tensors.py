"""Tensors of a call → arrays, checked as Triton checks them and in its words; and back.

The sentences are Triton's (docs/v2-mapping.md §3, §4, §6).
"""

from __future__ import annotations

import math
from typing import Callable, Iterator

import numpy as np

from tritonclient_shim.backends.in_process.declared import (
    Arrays,
    Model,
    ServerError,
    Tensor,
    array_type,
    invalid,
)
from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.model import Buffer, InferCall, ShmSlice, TensorIn, TensorOut

#: The bytes of a slice of a registered region. Raises ServerError.
ReadRegion = Callable[[ShmSlice], Buffer]

_BATCH_NOTE = (
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be "
    "prepended to each input shape."
)


def inputs_of(name: str, model: Model, call: InferCall, region: ReadRegion) -> Arrays:
    """Return the inputs of a call as arrays, or the refusal that Triton would answer with.

    Contexts have checked names, datatypes and the number of rows before.
    """
    values = {value.name: value for value in call.inputs}
    return {
        tensor.name: _array(name, model, tensor, values[tensor.name], region)
        for tensor in model.inputs
    }


def _array(
    name: str, model: Model, tensor: Tensor, value: TensorIn, region: ReadRegion
) -> np.ndarray:
    batching = model.max_batch_size > 0
    expected = (-1, *tensor.dims) if batching else tensor.dims
    fits = len(expected) == len(value.shape) and all(
        size in (-1, actual) for size, actual in zip(expected, value.shape)
    )
    if not fits:
        raise invalid(
            f"unexpected shape for input '{tensor.name}' for model '{name}'. Expected "
            f"{_shape(expected)}, got {_shape(value.shape)}. {_BATCH_NOTE if batching else ''}"
        )
    data = b"".join(value.chunks) if value.shm is None else bytes(region(value.shm))
    if tensor.datatype == dtypes.STRING.v2:
        return _strings(name, value, data)
    size = dtypes.itemsize(tensor.datatype) * math.prod(value.shape)
    if len(data) != size:
        raise invalid(
            f"input byte size mismatch for input '{tensor.name}' for model '{name}'. Expected "
            f"{size}, got {len(data)}"
        )
    array: np.ndarray = np.frombuffer(data, array_type(tensor.datatype)).reshape(value.shape)
    return np.array(array)


def _strings(name: str, value: TensorIn, data: bytes) -> np.ndarray:
    try:
        values = byte_strings.deserialize(data)
    except ValueError as error:
        raise invalid(
            f"incomplete string data for inference input '{value.name}' for model '{name}': {error}"
        ) from error
    count = math.prod(value.shape)
    # a region is as long as it is registered, and what follows the elements is not looked at
    if len(values) < count or (len(values) > count and value.shm is None):
        raise invalid(
            f"expected {count} string elements for inference input '{value.name}' for model "
            f"'{name}', got {len(values)}"
        )
    array = np.empty(count, object)
    array[:] = values[:count]
    return array.reshape(value.shape)


def output_of(name: str, tensor: Tensor, value: object, class_count: int) -> TensorOut:
    """Turn what a function returned for an output into the tensor of the reply."""
    expected = array_type(tensor.datatype)
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of several lengths
        raise ServerError(
            f"the function of model '{name}' returned {type(value).__name__}, which makes no "
            f"array, for output '{tensor.name}'; expected an array of {expected}"
        ) from error
    is_text = tensor.datatype == dtypes.STRING.v2
    if array.dtype != expected and not (is_text and array.dtype.kind in "SU"):
        raise ServerError(
            f"the function of model '{name}' returned {array.dtype} for output '{tensor.name}', "
            f"which is declared {tensor.datatype}; expected an array of {expected}"
        )
    if class_count:
        return _classes(tensor, array, class_count)
    data = _joined(array.flat) if is_text else array.tobytes()
    return TensorOut(tensor.name, tensor.datatype, array.shape, data)


def _classes(tensor: Tensor, array: np.ndarray, count: int) -> TensorOut:
    """Return the classes with the largest values of each row, in Triton's form."""
    rows = array.reshape(len(array) if array.ndim > 1 else 1, -1)
    texts = [[*_row_classes(tensor, row, count)] for row in rows]
    shape = (len(texts), len(texts[0])) if array.ndim > 1 else (len(texts[0]),)
    data = _joined(text for row in texts for text in row)
    return TensorOut(tensor.name, dtypes.STRING.v2, shape, data)


def _row_classes(tensor: Tensor, row: np.ndarray, count: int) -> Iterator[str]:
    for index in np.argsort(-row.astype(np.float64), kind="stable")[:count]:
        label = tensor.labels[index] if index < len(tensor.labels) else ""
        value = f"{row[index]:f}" if row.dtype.kind == "f" else str(row[index])
        yield f"{value}:{index}:{label}" if label else f"{value}:{index}"


def _joined(values: object) -> bytes:
    """Texts as they travel: each behind its length."""
    return byte_strings.serialize(
        [
            bytes(value) if isinstance(value, bytes) else str(value).encode("utf-8")
            for value in values  # type: ignore[attr-defined]
        ]
    )


def _shape(dims: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, dims))}]"

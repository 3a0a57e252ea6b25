"""Arguments of ``InferContext.run`` and ``async_run`` → a V1Request, and the form of its results.

Two steps, because v1 kept a new correlation id even when an input was refused afterwards
(docs/v1-behaviour.md §3.2): :func:`parse_options` checks everything up to the batch size, a binder
(:func:`compile_input`) one input. Both check in v1's order and raise v1's texts. Arrays become
tensor bytes by the rules of v1: bytes are reinterpreted, never converted.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import prod
from operator import attrgetter
from typing import Any, Callable, MutableMapping, Protocol

import numpy as np

from tritonclient_shim.core import arguments, byte_strings, dtypes
from tritonclient_shim.core.arguments import UINT32, UINT64, RunArguments, is_handle, unsigned
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import Buffer, ShmSlice, V1Input, V1Output, best_classes
from tritonclient_shim.servers.base import ModelProfile, TensorSpec

RAW = (1,)
CLASS = 2

_WANTED = (
    "values must be specified as a list of numpy arrays or as a single c_void_p "
    "(representing the shared memory handle) or as a tuple of c_void_p "
    "(representing the shared memory handle) and list (representing the shape of the input tensor)"
)

#: Shapes that stay with an input for the life of its context (docs/v1-behaviour.md §3.3), by input
#: name.
StickyShapes = MutableMapping[str, "tuple[int, ...]"]


class ReadableRegion(Protocol):
    """What a request needs of the shared-memory region behind a handle."""

    name: str
    byte_size: int

    def read(self, offset: int, count: int) -> Buffer:
        """Copy ``count`` bytes from ``offset``; raise the region's own exception on failure."""


_LARGEST_SIZE = 2**63 - 1  # of a dimension on the wire
#: Handle → its region; raises the handle table's own exception for an unknown handle.
LookUp = Callable[[object], ReadableRegion]


@dataclass(frozen=True)
class RequestedOutput:
    """A requested output, and the caller's key under which its result is put."""

    key: Any  # the object the caller used as key; it is the key of the result too
    output: V1Output
    region: ReadableRegion | None = None


@dataclass(frozen=True)
class Options:
    """What a context makes of a reply: the results that the caller asked for."""

    outputs: tuple[RequestedOutput, ...] = ()
    batch_size: int = 0  # as asked; the request has at least 1 (docs/v1-behaviour.md §3.5)


def _batch_size(run: RunArguments) -> int:
    """Return the batch size. Raise ctypes.ArgumentError for a number that is no integer."""
    # v1's C layer looked at the flags before the batch size (docs/v1-behaviour.md §3.9).
    unsigned(run.flags, UINT32, 2)
    batch_size = unsigned(run.batch_size, UINT64, 3)
    unsigned(run.correlation_id, UINT64, 4)
    unsigned(run.priority, UINT32, 5)
    unsigned(run.timeout_us, UINT64, 6)
    return batch_size


def parse_options(profile: ModelProfile, run: RunArguments, look_up: LookUp) -> Options:
    """Return the options. Check in v1's order: types of inputs, numbers, outputs, batch size
    (docs/v1-behaviour.md §3.2).
    """
    batch_size = _batch_size(run)
    outputs = run.outputs.items()
    requested = tuple([_output(profile, key, value, look_up) for key, value in outputs])
    # A model that does not batch has the effective maximum 1 (docs/v1-behaviour.md §3.5).
    largest = max(1, profile.max_batch_size)
    if batch_size > largest:
        raise InferenceServerException(
            f"run batch-size {batch_size} exceeds maximum batch size {largest} "
            f"allowed for model '{profile.name}'"
        )
    return Options(requested, batch_size)


def _output(profile: ModelProfile, key: Any, value: Any, look_up: LookUp) -> RequestedOutput:
    """Return what an entry of ``outputs`` asks for, checked in v1's order
    (docs/v1-behaviour.md §3.8).
    """
    sequence = isinstance(value, (list, tuple))
    if len(value) == 2 and sequence and value[0] == RAW:
        if not is_handle(value[1]):
            raise InferenceServerException(
                "shared memory requires tuple of size 2 - output_format(RAW), "
                "shared_memory_handle(c_void_p)"
            )
        region = look_up(value[1])
        where = ShmSlice(region.name, region.byte_size)
        output = V1Output(_name(profile, "output", key), shm=where)
        return RequestedOutput(key, output, region)
    if value == RAW:
        return RequestedOutput(key, V1Output(_name(profile, "output", key)))
    if sequence and value[0] == CLASS:
        count = arguments.class_count(value[1])
        return RequestedOutput(
            key, V1Output(_name(profile, "output", key), form=best_classes(count))
        )
    raise InferenceServerException("unrecognized output format")


def _name(profile: ModelProfile, side: str, key: Any) -> str:
    """Return the name of an ``input`` or ``output`` of the model, as the caller wrote it."""
    names = profile.inputs if side == "input" else profile.outputs
    if type(key) is str and key in names:
        return key
    name = arguments.text(key, f"an {side} name", 3)
    if name not in names:
        raise InferenceServerException(f"unknown {side} '{name}' for '{profile.name}'")
    return name


#: What decides, with the tensor that an array is for, how the array becomes bytes.
kind_of_array = attrgetter("__class__", "dtype", "shape", "flags.c_contiguous")


@dataclass(frozen=True)
class InputBinder:
    """Makes one input of what the caller gives for it.

    ``kinds`` are the kinds of the arrays that it is compiled for; None for anything but a list of
    arrays. ``tensor`` is the input without its data, if such arrays are the tensor's bytes as they
    are, so that nothing can be wrong with them. Other inputs are checked whenever they are bound.
    ``name`` is that of the input, None if the caller's key is wrong.
    """

    profile: ModelProfile
    key: Any
    name: str | None
    batch_size: int  # of the request, so at least 1
    kinds: list[Any] | None
    tensor: V1Input | None

    def bind(self, value: Any, shapes: StickyShapes, look_up: LookUp) -> V1Input:
        """Return the input. Raise v1's errors, also for a name that the model does not have.

        ``shapes`` are the context's sticky shapes. They are read for bare handles, and updated as
        soon as the shape of the input is known, also when a later check fails
        (docs/v1-behaviour.md §3.3, §3.7).
        """
        tensor = self.tensor
        if tensor is not None:
            shapes[tensor.name] = tensor.dims or ()
            # by position, see CallPlan.bind
            return V1Input(tensor.name, tensor.dims, tuple(value), tensor.byte_size)
        name = self.name or _name(self.profile, "input", self.key)
        if isinstance(value, (list, tuple)) and not is_handle(value[0]):
            return _arrays(self.profile, name, value, self.batch_size, shapes)
        return _shared(self.profile, name, value, self.batch_size, shapes, look_up)


def compile_input(profile: ModelProfile, key: Any, value: Any, batch_size: int) -> InputBinder:
    """Return the binder of an input. Raise nothing: a wrong input is refused when it is bound,
    since v1 checked one input after the other.
    """
    kinds = None
    if type(value) is list and all(isinstance(array, np.ndarray) for array in value):
        kinds = [kind_of_array(array) for array in value]
    tensor = None
    if kinds and type(key) is str and key in profile.inputs:
        tensor = _plain_tensor(profile.inputs[key], value, batch_size)
    name = None
    with suppress(InferenceServerException, arguments.ArgumentError):
        name = _name(profile, "input", key)
    return InputBinder(profile, key, name, batch_size, kinds, tensor)


def _plain_tensor(
    spec: TensorSpec, arrays: list[np.ndarray[Any, Any]], batch_size: int
) -> V1Input | None:
    """Return the input without its data, if the arrays are its bytes as they are; else None."""
    if len(arrays) != (1 if spec.is_shape_tensor else batch_size):
        return None
    shape = tuple(arrays[0].shape)
    expected = byte_size_of_one(spec, shape)
    for array in arrays:
        if type(array) is not np.ndarray or array.dtype.kind in "OSTU" or not array.ndim:
            return None
        if not array.size or not array.flags.c_contiguous or not _has_buffer(array):
            return None
        if expected is not None and array.nbytes != expected:
            return None
    return V1Input(spec.name, shape, byte_size=sum(array.nbytes for array in arrays))


def _arrays(
    profile: ModelProfile, name: str, arrays: Any, batch_size: int, shapes: StickyShapes
) -> V1Input:
    """Return the input of a list of arrays, one per batch entry. The first array's shape counts."""
    if isinstance(arrays[0], tuple):
        # docs/v1-behaviour.md §3.3: a list of tuples passed the type check and was taken for
        # (handle, shape).
        arrays[1]
        raise too_few(name, batch_size, 0)
    spec = profile.inputs[name]
    shape = shapes[name] = tuple(arrays[0].shape)
    expected = byte_size_of_one(spec, shape)
    limit = 1 if spec.is_shape_tensor else batch_size
    chunks: list[Buffer] = []
    total = 0
    for array in arrays:
        chunk, size = array_chunk(array, spec)
        if expected is not None and size != expected:
            raise InferenceServerException(
                f"invalid size {size} bytes for input '{name}', expects {expected} bytes"
            )
        if len(chunks) == limit:
            raise InferenceServerException(
                f"expecting single invocation of SetRaw for shape input '{name}', "
                "one shape tensor should represent the shape for entire batch"
                if spec.is_shape_tensor
                else f"expecting {batch_size} invocations of SetRaw for input '{name}', "
                "one per batch entry"
            )
        chunks.append(chunk)
        total += size
    if len(chunks) < limit:
        raise too_few(name, batch_size, len(chunks))
    # docs/v1-behaviour.md §3.3: no dims on the wire were an unknown shape, not a shape without
    # dimensions.
    return V1Input(name, shape or None, tuple(chunks), total)


def too_few(name: str, batch_size: int, have: int) -> InferenceServerException:
    """Return the error of an input with fewer arrays than batch entries."""
    # v1 sent whatever lay in memory (docs/v1-behaviour.md §3.3); known difference
    # ``missing-input``.
    return InferenceServerException(
        f"expecting {batch_size} invocations of SetRaw for input '{name}', have {have}"
    )


def _shared(
    profile: ModelProfile,
    name: str,
    value: Any,
    batch_size: int,
    shapes: StickyShapes,
    look_up: LookUp,
) -> V1Input:
    """Return the input of a handle, or of ``(handle, shape)`` (docs/v1-behaviour.md §3.7)."""
    spec = profile.inputs[name]
    handle = value
    if isinstance(value, (list, tuple)):
        handle, shape = value
        sizes = tuple(int(size) for size in shape)
        if max(sizes, default=0) > _LARGEST_SIZE:
            raise InferenceServerException(
                f"attempt to set invalid shape dimension {max(sizes)}, "
                f"shape dimensions must be <= {_LARGEST_SIZE} for input '{name}'"
            )
        for size in sizes:
            if size < 0:
                # docs/v1-behaviour.md §3.7: the closing quote really is missing.
                raise InferenceServerException(
                    f"attempt to set invalid shape dimension {size}, "
                    f"shape dimensions must be >= 0 for input '{name}"
                )
        shapes[name] = sizes
    region = look_up(handle)
    dims = known = shapes.get(name)
    if dims is None and min(spec.dims, default=0) >= 0:
        known = spec.dims
    size = region.byte_size
    entry_size = None if known is None else byte_size_of_one(spec, known)
    if entry_size is not None and size != batch_size * entry_size:
        raise InferenceServerException(
            f"The input '{name}' has shared memory of size {size} bytes while the "
            f"expected size is {batch_size} * {entry_size} = {batch_size * entry_size} bytes"
        )
    if spec.datatype == dtypes.STRING.v2 and known is not None:
        size = _string_size(region, prod(known) * (1 if spec.is_shape_tensor else batch_size))
    return V1Input(name, dims or None, byte_size=size, shm=ShmSlice(region.name, size))


def _string_size(region: ReadableRegion, count: int) -> int:
    """Return the bytes of ``count`` strings in a region, or its size if it does not hold as many.

    A v2 server wants the exact size of the tensor (docs/v2-mapping.md §8); v1 gave the region's.
    """
    content = region.read(0, region.byte_size)
    try:
        return byte_strings.wire_length(content, count)
    except ValueError:  # the server says what is wrong with it
        return region.byte_size


# ---------------------------------------------------------------------- arrays → tensor bytes


def check_input_types(run: RunArguments) -> None:
    """Raise v1's error of the first input that no tensor can be made of."""
    for name, value in run.inputs.items():
        _check_input_type(name, value)


def _check_input_type(name: Any, value: Any) -> None:
    """Raise v1's error unless a value of ``inputs`` is a list of arrays, a handle, or
    ``(handle, shape)`` (docs/v1-behaviour.md §3.3).
    """
    if is_handle(value):
        return
    if isinstance(value, (list, tuple)):
        if len(value) == 2 and is_handle(value[0]) and isinstance(value[1], (list, tuple)):
            return
        if all(isinstance(array, (np.ndarray, tuple)) for array in value):
            return
    # TypeError for a name that is no str, as in v1.
    raise InferenceServerException("input '" + name + "' " + _WANTED)


def byte_size_of_one(spec: TensorSpec, shape: tuple[int, ...]) -> int | None:
    """Return the bytes of one batch entry of ``shape``; None for strings.

    A shape without dimensions has no elements at all (docs/v1-behaviour.md §3.3).
    """
    itemsize = dtypes.itemsize(spec.datatype)
    if itemsize == 0:
        return None
    return prod(shape) * itemsize if shape else 0


def array_chunk(array: np.ndarray[Any, Any], spec: TensorSpec) -> tuple[Buffer, int]:
    """Return the bytes of an array in C order as a buffer, and their number.

    Serialise object and ``S`` arrays as strings whatever the tensor's type, as in v1
    (docs/v1-behaviour.md §3.6), arrays of NumPy's StringDType too, and ``U`` arrays for a string
    tensor. Convert nothing else.
    """
    if not array.size:
        return b"", 0
    kind = array.dtype.kind
    if kind in "OST" or (kind == "U" and spec.datatype == dtypes.STRING.v2):
        data = serialize(array)
        return data, len(data)
    dense = np.ascontiguousarray(array)
    if not _has_buffer(dense):
        dense = dense.reshape(-1).view(np.uint8)
    return dense, dense.nbytes


def _has_buffer(array: np.ndarray[Any, Any]) -> bool:
    """True if NumPy offers the array as one buffer: not for dates and types of other packages."""
    try:
        return array.data.contiguous
    except ValueError:
        return False


def serialize_string_tensor(
    input_tensor: np.ndarray[Any, Any],
    refusal: Callable[[str], Exception] = InferenceServerException,
) -> np.ndarray[Any, Any]:
    """Return a 0-d array of dtype ``S<n>`` with the wire form of an array of dtype object or S.

    Raise ``refusal`` for anything else, with v1's texts (docs/v1-behaviour.md §3.6). v1 refused
    ``U`` arrays here, too.
    """
    if not isinstance(input_tensor, np.ndarray):
        raise refusal("input must be a numpy array")
    if input_tensor.size == 0:
        raise refusal("input cannot be empty")
    if input_tensor.dtype.kind not in "OS":
        raise refusal("cannot serialize string tensor: invalid datatype")
    return np.asarray(serialize(input_tensor), dtype=np.bytes_)


def serialize(array: np.ndarray[Any, Any]) -> bytes:
    """Return the wire form of the elements of an array of strings or objects, in C order.

    Masked elements are sent too (docs/v1-behaviour.md §3.3). ``S`` elements lose trailing NULs
    (docs/v1-behaviour.md §3.6, NumPy's own rule). ``U`` elements become UTF-8; v1 sent their
    UTF-32 memory (known difference ``unicode-array``).
    """
    # A subclass may hide elements, or keep two dimensions.
    values = np.asarray(array).ravel(order="C").tolist()
    types = {*map(type, values)}
    if types == {str}:
        values = [value.encode() for value in values]
    elif types != {bytes}:
        values = [_element(value) for value in values]
    return byte_strings.serialize(values)


def _element(value: Any) -> bytes:
    # v1 sent the repr of a bytes object (docs/v1-behaviour.md §3.6); known difference
    # ``bytes-in-object-array``.
    return value if isinstance(value, bytes) else str(value).encode()

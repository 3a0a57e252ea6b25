"""Arguments of ``InferContext.run`` and ``async_run`` → a V1Request and what to make of the reply.

Two steps, because v1 kept a new correlation id even when an input was refused afterwards
(docs/v1-behaviour.md §3.2): :func:`parse_options` checks everything up to the batch size,
:func:`bind_inputs` the inputs. Both check in v1's order and raise v1's texts.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, Mapping, MutableMapping, NamedTuple

from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import (
    Buffer,
    ModelProfile,
    ShmSlice,
    V1Input,
    V1Output,
    V1Request,
)
from tritonclient_shim.shm.handles import LookUp, ReadableRegion, is_handle
from tritonclient_shim.translate import arguments
from tritonclient_shim.translate.tensors import (
    array_chunk,
    byte_size_of_one,
    check_input_type,
    plain_chunks,
)

RAW = (1,)
CLASS = 2

#: Shapes that stay with an input for the life of its context (docs/v1-behaviour.md §3.3), by input
#: name.
StickyShapes = MutableMapping[str, "tuple[int, ...]"]


class RunArguments(NamedTuple):
    """The arguments of ``run`` and ``async_run``, as they were passed."""

    inputs: Mapping[Any, Any]
    outputs: Mapping[Any, Any]
    batch_size: Any
    flags: Any
    correlation_id: Any
    priority: Any
    timeout_us: Any


class Numbers(NamedTuple):
    """Numbers of a request, as v1's C layer saw them."""

    flags: int
    correlation_id: int  # 0: keep the context's
    priority: int
    timeout_us: int


class RequestedOutput(NamedTuple):
    """One requested output: the caller's key, and what to put under it."""

    key: Any  # the object the caller used as key; it is the key of the result too
    output: V1Output
    region: ReadableRegion | None = None


class Options(NamedTuple):
    """Everything of a request but its inputs (v1's request options)."""

    outputs: tuple[RequestedOutput, ...]
    batch_size: int  # as asked; the request itself carries at least 1 (docs/v1-behaviour.md §3.5)
    numbers: Numbers


def parse_options(profile: ModelProfile, given: RunArguments, look_up: LookUp) -> Options:
    """Arguments → options.

    Order of checks as in v1 (docs/v1-behaviour.md §3.2): types of inputs, numbers, outputs, batch
    size.
    """
    for name, value in given.inputs.items():
        check_input_type(name, value)
    arguments.unsigned(given.flags, arguments.UINT32, 2)  # v1 looked at it before the batch size
    batch_size = arguments.unsigned(given.batch_size, arguments.UINT64, 3)
    parsed = numbers(given)
    outputs = given.outputs.items()
    requested = tuple([_output(profile, key, value, look_up) for key, value in outputs])
    _check_batch_size(profile, batch_size)
    return Options(requested, batch_size, parsed)


def numbers(given: RunArguments) -> Numbers:
    """Arguments → the numbers that v1's C layer saw (docs/v1-behaviour.md §3.9)."""
    _, _, _, flags, correlation_id, priority, timeout_us = given
    if type(flags) is type(correlation_id) is type(priority) is type(timeout_us) is int:
        return Numbers(
            flags & arguments.UINT32,
            correlation_id & arguments.UINT64,
            priority & arguments.UINT32,
            timeout_us & arguments.UINT64,
        )
    return Numbers(
        arguments.unsigned(flags, arguments.UINT32, 2),
        arguments.unsigned(correlation_id, arguments.UINT64, 4),
        arguments.unsigned(priority, arguments.UINT32, 5),
        arguments.unsigned(timeout_us, arguments.UINT64, 6),
    )


def _check_batch_size(profile: ModelProfile, batch_size: int) -> None:
    # docs/v1-behaviour.md §3.5: a model that does not batch has the effective maximum 1.
    largest = max(1, profile.max_batch_size)
    if batch_size > largest:
        raise InferenceServerException(
            f"run batch-size {batch_size} exceeds maximum batch size {largest} "
            f"allowed for model '{profile.name}'"
        )


def _output(profile: ModelProfile, key: Any, value: Any, look_up: LookUp) -> RequestedOutput:
    """One entry of ``outputs`` → what it asks for, in v1's order (docs/v1-behaviour.md §3.8)."""
    if type(value) is tuple and value == RAW:
        return _raw(key, _output_name(profile, key))
    sequence = isinstance(value, (list, tuple))
    if len(value) == 2 and sequence and value[0] == RAW:
        return _shm_output(profile, key, value[1], look_up)
    if value == RAW:
        return _raw(key, _output_name(profile, key))
    if sequence and value[0] == CLASS:
        count = arguments.class_count(value[1])
        return RequestedOutput(key, V1Output(_output_name(profile, key), class_count=count))
    raise InferenceServerException("unrecognized output format")


@lru_cache(maxsize=1024, typed=True)  # typed: a key of another type is another key
def _raw(key: Any, name: str) -> RequestedOutput:
    """A raw output that is requested; the same for every request of every context."""
    return RequestedOutput(key, V1Output(name))


def _shm_output(profile: ModelProfile, key: Any, handle: Any, look_up: LookUp) -> RequestedOutput:
    if not is_handle(handle):
        raise InferenceServerException(
            "shared memory requires tuple of size 2 - output_format(RAW), "
            "shared_memory_handle(c_void_p)"
        )
    region = look_up(handle)
    where = ShmSlice(region.name, region.byte_size)
    return RequestedOutput(key, V1Output(_output_name(profile, key), shm=where), region)


def _output_name(profile: ModelProfile, key: Any) -> str:
    if type(key) is str and key in profile.outputs:
        return key
    name = arguments.text(key, "an output name", 3)
    if name not in profile.outputs:
        raise InferenceServerException(f"unknown output '{name}' for '{profile.name}'")
    return name


def bind_inputs(
    profile: ModelProfile,
    options: Options,
    given: RunArguments,
    shapes: StickyShapes,
    look_up: LookUp,
) -> tuple[V1Input, ...]:
    """Arguments → the inputs of the request, in the model's order.

    ``shapes`` are the context's sticky shapes: read for bare handles, updated for each
    input as soon as its shape is known, also when a later check fails
    (docs/v1-behaviour.md §3.3, §3.7).
    """
    batch_size = max(1, options.batch_size)
    bound = {}
    for key, value in given.inputs.items():
        name = _input_name(profile, key)
        if isinstance(value, (list, tuple)) and not is_handle(value[0]):
            bound[name] = _arrays(profile, name, value, batch_size, shapes)
        else:
            bound[name] = _shared(profile, name, value, batch_size, shapes, look_up)
    for name in profile.inputs:
        if name not in bound:
            raise _too_few(name, batch_size, 0)
    return tuple([bound[name] for name in profile.inputs])


def _input_name(profile: ModelProfile, key: Any) -> str:
    if type(key) is str and key in profile.inputs:
        return key
    name = arguments.text(key, "an input name", 3)
    if name not in profile.inputs:
        raise InferenceServerException(f"unknown input '{name}' for '{profile.name}'")
    return name


def _arrays(
    profile: ModelProfile, name: str, arrays: Any, batch_size: int, shapes: StickyShapes
) -> V1Input:
    """A list of one array per batch entry → an input; the first array's shape counts."""
    if isinstance(arrays[0], tuple):
        # docs/v1-behaviour.md §3.3: a list of tuples passed the type check and was taken for
        # (handle, shape).
        arrays[1]
        raise _too_few(name, batch_size, 0)
    spec = profile.inputs[name]
    shape = shapes[name] = tuple(arrays[0].shape)
    expected = byte_size_of_one(spec, shape)
    limit = 1 if spec.is_shape_tensor else batch_size
    plain = plain_chunks(arrays, expected) if len(arrays) == limit else None
    if plain is not None:
        return V1Input(name, shape, plain, limit * (expected or 0))
    chunks: list[Buffer] = []
    total = 0
    for array in arrays:
        chunk, size = array_chunk(array, spec)
        if expected is not None and size != expected:
            raise InferenceServerException(
                f"invalid size {size} bytes for input '{name}', expects {expected} bytes"
            )
        if len(chunks) == limit:
            raise _too_many(name, batch_size, spec.is_shape_tensor)
        chunks.append(chunk)
        total += size
    if len(chunks) < limit:
        raise _too_few(name, batch_size, len(chunks))
    # docs/v1-behaviour.md §3.3: no dims on the wire were an unknown shape, not a shape without
    # dimensions.
    return V1Input(name, shape or None, tuple(chunks), total)


def _too_many(name: str, batch_size: int, shape_tensor: bool) -> InferenceServerException:
    if shape_tensor:
        return InferenceServerException(
            f"expecting single invocation of SetRaw for shape input '{name}', "
            "one shape tensor should represent the shape for entire batch"
        )
    return InferenceServerException(
        f"expecting {batch_size} invocations of SetRaw for input '{name}', one per batch entry"
    )


def _too_few(name: str, batch_size: int, have: int) -> InferenceServerException:
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
    """A handle, or (handle, shape) → an input that lies in shared memory
    (docs/v1-behaviour.md §3.7).
    """
    spec = profile.inputs[name]
    handle = value
    if isinstance(value, (list, tuple)):
        handle, shape = value
        shapes[name] = _given_shape(name, shape)
    region = look_up(handle)
    dims = shapes.get(name)
    known = dims if dims is not None else _fixed(spec.dims)
    one = byte_size_of_one(spec, known) if known is not None else None
    if one is not None and region.byte_size != batch_size * one:
        raise InferenceServerException(
            f"The input '{name}' has shared memory of size {region.byte_size} bytes while the "
            f"expected size is {batch_size} * {one} = {batch_size * one} bytes"
        )
    size = region.byte_size
    if spec.datatype == dtypes.STRING.v2 and known is not None:
        size = _string_size(region, prod(known) * (1 if spec.is_shape_tensor else batch_size))
    return V1Input(name, dims or None, byte_size=size, shm=ShmSlice(region.name, size))


def _string_size(region: ReadableRegion, count: int) -> int:
    """The bytes of ``count`` strings in a region, all of it when it does not hold as many.

    A v2 server wants the exact size of the tensor (docs/v2-mapping.md §8); v1 gave the region's.
    """
    content = region.read(0, region.byte_size)
    try:
        return byte_strings.wire_length(content, count)
    except ValueError:  # the server says what is wrong with it
        return region.byte_size


def _given_shape(name: str, shape: Any) -> tuple[int, ...]:
    dims = tuple(int(size) for size in shape)
    for size in dims:
        if size < 0:
            # docs/v1-behaviour.md §3.7: the closing quote really is missing.
            raise InferenceServerException(
                f"attempt to set invalid shape dimension {size}, "
                f"shape dimensions must be >= 0 for input '{name}"
            )
    return dims


def _fixed(dims: tuple[int, ...]) -> tuple[int, ...] | None:
    return dims if min(dims, default=0) >= 0 else None


def build(
    options: Options, inputs: tuple[V1Input, ...], model_version: int, correlation_id: int, id: int
) -> V1Request:
    """Options and bound inputs → the request."""
    return V1Request(
        model_version,
        options.batch_size or 1,
        inputs,
        tuple([requested.output for requested in options.outputs]),
        correlation_id,
        options.numbers.flags,
        options.numbers.priority,
        options.numbers.timeout_us,
        id,
    )

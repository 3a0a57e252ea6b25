"""v1 wire messages ↔ V1Request and V1Reply, with the checks of v1's server
(docs/v1-behaviour.md §3.4, §9).

Refusals are :class:`Refusal`: over the v1 wire they travel in ``request_status``.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import Refusal
from tritonclient_shim.core.model import (
    Buffer,
    ModelProfile,
    ShmSlice,
    TensorSpec,
    V1Input,
    V1Output,
    V1Reply,
    V1Request,
    V1Result,
)
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.translate import to_v2


def _refusal(message: str) -> Refusal:
    return Refusal(message, "INVALID_ARGUMENT")


# --------------------------------------------------------------------------------- request


class _CheckedInput(NamedTuple):
    """One input of a header that has been checked."""

    item: Any  # its message
    dims: tuple[int, ...]  # of one batch entry, as given or as configured
    size: int | None  # in bytes, of the whole batch; None for a string tensor of unknown size


def to_request(
    profile: ModelProfile,
    model_version: int,
    header: api_pb2.InferRequestHeader,
    data: Sequence[Buffer],
) -> V1Request:
    """``InferRequestHeader`` and one buffer per input outside shared memory → V1Request.

    Inputs may come without dims. Sizes are checked as v1's gRPC endpoint did.
    """
    inputs = _checked(profile, header)
    plain = [one for one in inputs if not one.item.HasField("shared_memory")]
    if len(plain) != len(data):
        raise _refusal(
            f"expected tensor data for {len(plain)} inputs but got {len(data)} sets of data "
            f"for model '{profile.name}'"
        )
    for (item, _, wanted), chunk in zip(plain, data):
        size = memoryview(chunk).nbytes
        if wanted is not None and size != wanted:
            raise _refusal(
                f"unexpected size {size} for input '{item.name}', expecting {wanted} "
                f"for model '{profile.name}'"
            )
    return _request(model_version, header, inputs, [(chunk,) for chunk in data])


def to_request_of_body(
    profile: ModelProfile,
    model_version: int,
    header: api_pb2.InferRequestHeader,
    body: Sequence[Buffer],
) -> V1Request:
    """Header and body of a v1 HTTP inference request → V1Request.

    The body, which may come in several pieces, has the data of every input outside shared memory,
    one after another.
    """
    inputs = _checked(profile, header)
    left, sizes = sum(map(len, body)), []
    for item, _, wanted in inputs:
        if item.HasField("shared_memory"):
            continue
        size = wanted or 0
        left -= size
        if left < 0:
            raise _refusal(
                f"unexpected size for input '{item.name}', expecting {-left} bytes "
                f"for model '{profile.name}'"
            )
        sizes.append(size)
    if left:
        raise _refusal(f"unexpected additional input data for model '{profile.name}'")
    return _request(model_version, header, inputs, cut(body, sizes))


def cut(pieces: Sequence[Buffer], sizes: Iterable[int]) -> list[tuple[Buffer, ...]]:
    """Consecutive parts of so many bytes, without copying; there must be that many."""
    parts = []
    number = start = 0
    for size in sizes:
        part: list[Buffer] = []
        while size:
            chunk = memoryview(pieces[number])[start : start + size]
            part.append(chunk)
            size -= len(chunk)
            start += len(chunk)
            if start == len(pieces[number]):
                number, start = number + 1, 0
        parts.append(tuple(part))
    return parts


def without_batch(
    profile: ModelProfile, header: api_pb2.InferRequestHeader
) -> api_pb2.InferRequestHeader:
    """A header whose dims may start with the batch size → one whose dims do not.

    Some scripts that speak the protocol themselves write it there; v1's later servers refused
    them (docs/v1-behaviour.md §3.3), so a server of ours does not call this.
    """
    found = [(item, profile.inputs.get(item.name)) for item in header.input]
    trimmed = [spec is not None and _batched(profile, header, item, spec) for item, spec in found]
    if not any(trimmed):
        return header
    made = api_pb2.InferRequestHeader()
    made.CopyFrom(header)
    for item, trim in zip(made.input, trimmed):
        if trim:
            del item.dims[0]
    return made


def _batched(profile: ModelProfile, header: Any, item: Any, spec: TensorSpec) -> bool:
    given = tuple(item.dims)
    if not profile.batching or given[:1] != (header.batch_size,) or to_v2.fits(given, spec.dims):
        return False
    return to_v2.fits(given[1:], spec.dims)


def _request(
    model_version: int,
    header: api_pb2.InferRequestHeader,
    inputs: list[_CheckedInput],
    data: Iterable[tuple[Buffer, ...]],
) -> V1Request:
    buffers = iter(data)
    return V1Request(
        model_version=model_version,
        batch_size=header.batch_size,
        inputs=tuple(_input(item, dims, buffers) for item, dims, _ in inputs),
        outputs=tuple(_output(item) for item in header.output),
        correlation_id=header.correlation_id,
        flags=header.flags,
        priority=header.priority,
        timeout_us=header.timeout_microseconds,
        id=header.id,
    )


def _input(item: Any, dims: tuple[int, ...], buffers: Iterator[tuple[Buffer, ...]]) -> V1Input:
    if item.HasField("shared_memory"):
        where = _slice(item.shared_memory)
        return V1Input(item.name, dims, byte_size=where.byte_size, shm=where)
    chunks = next(buffers)
    return V1Input(item.name, dims, chunks, sum([memoryview(one).nbytes for one in chunks]))


def _output(item: Any) -> V1Output:
    count = item.cls.count if item.HasField("cls") else None
    shm = _slice(item.shared_memory) if item.HasField("shared_memory") else None
    return V1Output(item.name, count, shm)


def _slice(shared: Any) -> ShmSlice:
    if max(shared.byte_size, shared.offset) >= 2**63:  # KServe's numbers of it have a sign
        region = shared.name
        raise _refusal(f"Invalid offset + byte size for shared memory region: '{region}'")
    return ShmSlice(shared.name, shared.byte_size, shared.offset)


def _checked(profile: ModelProfile, header: api_pb2.InferRequestHeader) -> list[_CheckedInput]:
    """A header → its inputs; refused is what v1's server refused, in its order and words
    (docs/v1-behaviour.md §3.4).
    """
    batch, largest, model = header.batch_size, profile.max_batch_size, profile.name
    if batch < 1:
        raise _refusal(f"inference request batch-size must be >= 1 for '{model}'")
    if batch != 1 and batch > largest:
        raise _refusal(f"inference request batch-size must be <= {largest} for '{model}'")
    if profile.open_inputs and header.input:
        raise to_v2.untyped_input(profile, header.input[0].name)
    if len(header.input) != len(profile.inputs):
        raise _refusal(
            f"expected {len(profile.inputs)} inputs but got {len(header.input)} inputs "
            f"for model '{model}'"
        )
    inputs = []
    for item in header.input:
        spec = profile.inputs.get(item.name)
        if spec is None:
            raise _refusal(f"unexpected inference input '{item.name}' for model '{model}'")
        dims = to_v2.entry_dims(profile, spec, tuple(item.dims) or None)
        inputs.append(_CheckedInput(item, dims, _size(spec, dims, batch, item.batch_byte_size)))
    for output in header.output:
        if output.name not in profile.outputs and not profile.open_outputs:
            raise _refusal(f"unexpected inference output '{output.name}' for model '{model}'")
    return inputs


def _size(spec: TensorSpec, dims: tuple[int, ...], batch_size: int, told: int) -> int | None:
    if spec.datatype == dtypes.STRING.v2:
        return told or None
    one = to_v2.byte_size(spec.datatype, dims)
    return one if spec.is_shape_tensor else one * batch_size


# ----------------------------------------------------------------------------------- reply


def response_header(reply: V1Reply) -> api_pb2.InferResponseHeader:
    """V1Reply → ``InferResponseHeader``; outputs in the order they were asked for."""
    header = api_pb2.InferResponseHeader(
        model_name=reply.model_name,
        model_version=reply.model_version,
        batch_size=reply.batch_size,
        id=reply.id,
    )
    for result in reply.outputs:
        _add_output(header, result)
    return header


def _add_output(header: api_pb2.InferResponseHeader, result: V1Result) -> None:
    row = dtypes.BY_V2.get(result.datatype)
    output = header.output.add(name=result.name, data_type=row.number if row else 0)
    if result.classes is None:
        output.raw.dims.extend(result.dims)
        output.raw.batch_byte_size = result.byte_size
        return
    for entry in result.classes:
        classes = output.batch_classes.add()
        for index, value, label in entry:
            classes.cls.add(idx=index, value=value, label=label)


def raw_outputs(reply: V1Reply) -> list[bytes]:
    """V1Reply → one entry per output, empty for classes and shared memory
    (docs/v1-behaviour.md §9.2).
    """
    return [b"" if result.data is None else bytes(result.data) for result in reply.outputs]

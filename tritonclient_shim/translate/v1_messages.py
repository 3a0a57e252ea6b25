"""v1 wire messages ↔ V1Request and V1Reply, with the checks of v1's server
(docs/v1-behaviour.md §3.4, §9).

Refusals are :class:`Refusal`: over the v1 wire they travel in ``request_status``.
"""

from __future__ import annotations

from math import prod
from typing import Any, Sequence

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


def to_request(
    profile: ModelProfile,
    model_version: int,
    header: api_pb2.InferRequestHeader,
    data: Sequence[Buffer],
) -> V1Request:
    """``InferRequestHeader`` and one buffer per input outside shared memory → V1Request.

    Inputs may come without dims. Sizes are checked as v1's gRPC endpoint did.
    """
    check_header(profile, header)
    plain = [item for item in header.input if not item.HasField("shared_memory")]
    if len(plain) != len(data):
        raise _refusal(
            f"expected tensor data for {len(plain)} inputs but got {len(data)} sets of data "
            f"for model '{profile.name}'"
        )
    buffers = iter(data)
    inputs = []
    for item in header.input:
        spec = profile.inputs[item.name]
        dims = entry_dims(profile, item)
        if item.HasField("shared_memory"):
            where = _slice(item.shared_memory)
            inputs.append(V1Input(item.name, dims, byte_size=where.byte_size, shm=where))
            continue
        chunk = next(buffers)
        size = memoryview(chunk).nbytes
        wanted = expected_size(profile, header, item)
        if wanted is not None and size != wanted:
            raise _refusal(
                f"unexpected size {size} for input '{spec.name}', expecting {wanted} "
                f"for model '{profile.name}'"
            )
        inputs.append(V1Input(item.name, dims, (chunk,), size))
    return _assemble(model_version, header, tuple(inputs))


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


def _assemble(
    model_version: int, header: api_pb2.InferRequestHeader, inputs: tuple[V1Input, ...]
) -> V1Request:
    return V1Request(
        model_version=model_version,
        batch_size=header.batch_size,
        inputs=inputs,
        outputs=tuple(_output(item) for item in header.output),
        correlation_id=header.correlation_id,
        flags=header.flags,
        priority=header.priority,
        timeout_us=header.timeout_microseconds,
        id=header.id,
    )


def _output(item: Any) -> V1Output:
    count = item.cls.count if item.HasField("cls") else None
    shm = _slice(item.shared_memory) if item.HasField("shared_memory") else None
    return V1Output(item.name, count, shm)


def _slice(shared: Any) -> ShmSlice:
    return ShmSlice(shared.name, shared.byte_size, shared.offset)


def check_header(profile: ModelProfile, header: api_pb2.InferRequestHeader) -> None:
    """Refuse what v1's server refused of a header, in its order and words
    (docs/v1-behaviour.md §3.4).
    """
    batch, largest, model = header.batch_size, profile.max_batch_size, profile.name
    if batch < 1:
        raise _refusal(f"inference request batch-size must be >= 1 for '{model}'")
    if batch != 1 and batch > largest:
        raise _refusal(f"inference request batch-size must be <= {largest} for '{model}'")
    if len(header.input) != len(profile.inputs):
        raise _refusal(
            f"expected {len(profile.inputs)} inputs but got {len(header.input)} inputs "
            f"for model '{model}'"
        )
    for item in header.input:
        if item.name not in profile.inputs:
            raise _refusal(f"unexpected inference input '{item.name}' for model '{model}'")
        entry_dims(profile, item)
    for output in header.output:
        if output.name not in profile.outputs:
            raise _refusal(f"unexpected inference output '{output.name}' for model '{model}'")


def entry_dims(profile: ModelProfile, item: Any) -> tuple[int, ...]:
    """Dims of one batch entry: as given, or as configured."""
    return to_v2.entry_dims(profile, profile.inputs[item.name], tuple(item.dims) or None)


def expected_size(
    profile: ModelProfile, header: api_pb2.InferRequestHeader, item: Any
) -> int | None:
    """Bytes an input must have for the whole batch; None for a string tensor of unknown size."""
    spec = profile.inputs[item.name]
    if spec.datatype == dtypes.STRING.v2:
        return item.batch_byte_size or None
    one = prod(entry_dims(profile, item)) * dtypes.itemsize(spec.datatype)
    return one if spec.is_shape_tensor else one * header.batch_size


def split_body(
    profile: ModelProfile, header: api_pb2.InferRequestHeader, body: Buffer
) -> list[memoryview]:
    """Body of a v1 HTTP inference request → one buffer per input outside shared memory."""
    check_header(profile, header)
    view, start = memoryview(body), 0
    parts = []
    for item in header.input:
        if item.HasField("shared_memory"):
            continue
        size = expected_size(profile, header, item) or 0
        missing = start + size - len(view)
        if missing > 0:
            raise _refusal(
                f"unexpected size for input '{item.name}', expecting {missing} bytes "
                f"for model '{profile.name}'"
            )
        parts.append(view[start : start + size])
        start += size
    if start < len(view):
        raise _refusal(f"unexpected additional input data for model '{profile.name}'")
    return parts


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

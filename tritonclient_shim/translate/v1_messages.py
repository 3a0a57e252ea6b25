"""v1 wire messages ↔ V1Request and V1Reply, with the checks of v1's server
(docs/v1-behaviour.md §3.4, §9).

Refusals are :class:`InvalidRequest`: over the v1 wire they travel in ``request_status``.
"""

from __future__ import annotations

from typing import Any, Iterable, Sequence, Tuple, Union

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import InvalidRequest
from tritonclient_shim.core.model import (
    TENSOR,
    Buffer,
    ShmSlice,
    V1Input,
    V1Output,
    V1Reply,
    V1Request,
    best_classes,
)
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.servers.base import ModelProfile
from tritonclient_shim.translate import to_v2

# --------------------------------------------------------------------------------- request


#: An input of a checked header, without its data, and the bytes of the whole batch; None for a
#: string tensor of unknown size. Its dims are those of the header, or as configured.
_CheckedInput = Tuple[V1Input, Union[int, None]]


def to_request(
    profile: ModelProfile,
    model_version: int,
    header: api_pb2.InferRequestHeader,
    data: Sequence[Buffer],
) -> V1Request:
    """Return the request of a header, with one buffer per input outside shared memory.

    Inputs may come without dims. Check sizes as v1's gRPC endpoint did.
    """
    inputs = _checked(profile, header)
    plain = [(item.name, size) for item, size in inputs if item.shm is None]
    if len(plain) != len(data):
        raise InvalidRequest(
            f"expected tensor data for {len(plain)} inputs but got {len(data)} sets of data "
            f"for model '{profile.name}'"
        )
    for (name, expected), chunk in zip(plain, data):
        size = memoryview(chunk).nbytes
        if expected is not None and size != expected:
            raise InvalidRequest(
                f"unexpected size {size} for input '{name}', expecting {expected} "
                f"for model '{profile.name}'"
            )
    return _request(model_version, header, inputs, [(chunk,) for chunk in data])


def to_request_of_body(
    profile: ModelProfile,
    model_version: int,
    header: api_pb2.InferRequestHeader,
    body: Sequence[Buffer],
) -> V1Request:
    """Return the request of a header and of the body of a v1 HTTP request.

    The body, which may come in several pieces, has the data of every input outside shared memory,
    one after another.
    """
    inputs = _checked(profile, header)
    left = sum(map(len, body))
    sizes = []
    for item, expected in inputs:
        if item.shm is not None:
            continue
        size = expected or 0
        left -= size
        if left < 0:
            raise InvalidRequest(
                f"unexpected size for input '{item.name}', expecting {-left} bytes "
                f"for model '{profile.name}'"
            )
        sizes.append(size)
    if left:
        raise InvalidRequest(f"unexpected additional input data for model '{profile.name}'")
    return _request(model_version, header, inputs, cut(body, sizes))


def cut(pieces: Sequence[Buffer], sizes: Iterable[int]) -> list[tuple[Buffer, ...]]:
    """Return consecutive parts of these sizes, without a copy. There must be enough bytes."""
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
    """Return a header whose dims do not start with the batch size.

    Some scripts that speak the protocol themselves write it there. v1's later servers refused them
    (docs/v1-behaviour.md §3.3), so a server of ours does not call this.
    """
    trimmed = api_pb2.InferRequestHeader()
    trimmed.CopyFrom(header)
    for item in trimmed.input:
        spec = profile.inputs.get(item.name)
        dims = tuple(item.dims)
        with_batch = profile.batching and dims[:1] == (header.batch_size,)
        if spec is None or not with_batch or to_v2.fits(dims, spec.dims):
            continue
        if to_v2.fits(dims[1:], spec.dims):
            del item.dims[0]
    return trimmed


def _request(
    model_version: int,
    header: api_pb2.InferRequestHeader,
    inputs: Iterable[_CheckedInput],
    data: Iterable[tuple[Buffer, ...]],
) -> V1Request:
    buffers = iter(data)
    bound = []
    for item, _ in inputs:
        if item.shm is None:
            chunks = next(buffers)
            size = sum([memoryview(chunk).nbytes for chunk in chunks])
            item = item._replace(chunks=chunks, byte_size=size)
        bound.append(item)
    outputs = [
        V1Output(
            name=item.name,
            form=best_classes(item.cls.count) if item.HasField("cls") else TENSOR,
            shm=_region(item),
        )
        for item in header.output
    ]
    return V1Request(
        model_version,
        header.batch_size,
        tuple(bound),
        tuple(outputs),
        header.correlation_id,
        header.flags,
        header.priority,
        header.timeout_microseconds,
        header.id,
    )


def _region(item: Any) -> ShmSlice | None:
    if not item.HasField("shared_memory"):
        return None
    shared = item.shared_memory
    if max(shared.byte_size, shared.offset) >= 2**63:  # KServe's numbers of it have a sign
        name = shared.name
        raise InvalidRequest(f"Invalid offset + byte size for shared memory region: '{name}'")
    return ShmSlice(shared.name, shared.byte_size, shared.offset)


def _checked(profile: ModelProfile, header: api_pb2.InferRequestHeader) -> list[_CheckedInput]:
    """Return the inputs of a header. Refuse what v1's server refused, in its order and words
    (docs/v1-behaviour.md §3.4).
    """
    batch_size = header.batch_size
    largest = profile.max_batch_size
    model = profile.name
    if batch_size < 1:
        raise InvalidRequest(f"inference request batch-size must be >= 1 for '{model}'")
    if batch_size != 1 and batch_size > largest:
        raise InvalidRequest(f"inference request batch-size must be <= {largest} for '{model}'")
    dialect = profile.dialect
    if header.input and dialect.may_have_inputs(profile):  # the header has no data types
        raise dialect.untyped_input(profile, header.input[0].name)
    if len(header.input) != len(profile.inputs):
        raise InvalidRequest(
            f"expected {len(profile.inputs)} inputs but got {len(header.input)} inputs "
            f"for model '{model}'"
        )
    inputs = []
    for item in header.input:
        spec = profile.inputs.get(item.name)
        if spec is None:
            raise InvalidRequest(f"unexpected inference input '{item.name}' for model '{model}'")
        dims = to_v2.entry_dims(profile, spec, tuple(item.dims) or None)
        entries = 1 if spec.is_shape_tensor else batch_size
        size: int | None = entries * to_v2.byte_size(spec.datatype, dims)
        if spec.datatype == dtypes.STRING.v2:
            size = item.batch_byte_size or None
        region = _region(item)
        in_region = region.byte_size if region else 0
        inputs.append((V1Input(item.name, dims, byte_size=in_region, shm=region), size))
    for output in header.output:
        if output.name not in profile.outputs and not dialect.may_have_outputs(profile):
            raise InvalidRequest(f"unexpected inference output '{output.name}' for model '{model}'")
    return inputs


# ----------------------------------------------------------------------------------- reply


def response_header(reply: V1Reply) -> api_pb2.InferResponseHeader:
    """Return ``InferResponseHeader``, with outputs in the order of the request."""
    header = api_pb2.InferResponseHeader(
        model_name=reply.model_name,
        model_version=reply.model_version,
        batch_size=reply.batch_size,
        id=reply.id,
    )
    for result in reply.outputs:
        row = dtypes.BY_V2.get(result.datatype)
        output = header.output.add(name=result.name, data_type=row.number if row else 0)
        if result.classes is None:
            output.raw.dims.extend(result.dims)
            output.raw.batch_byte_size = result.byte_size
        for entry in result.classes or ():
            classes = output.batch_classes.add()
            for index, value, label in entry:
                classes.cls.add(idx=index, value=value, label=label)
    return header


def raw_outputs(reply: V1Reply) -> list[bytes]:
    """Return one entry per output, empty for classes and shared memory
    (docs/v1-behaviour.md §9.2).
    """
    return [b"" if result.data is None else bytes(result.data) for result in reply.outputs]

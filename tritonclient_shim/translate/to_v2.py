"""V1Request → InferCall: the one place where a v1 request becomes a KServe v2 call.

All fronts come through here. Some requests that v1's *server* refused must not reach a v2 server,
or a v2 server words the refusal differently. They are refused here as v1's server did it: by a
:class:`ServerError`, and the session adds the server's id (docs/v1-behaviour.md §3.4, §E.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Sequence

from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.errors import InvalidRequest, ServerError
from tritonclient_shim.core.model import (
    FLAG_SEQUENCE_END,
    FLAG_SEQUENCE_START,
    PROTOCOLS,
    TENSOR,
    Buffer,
    InferCall,
    OutputForm,
    OutputSpec,
    TensorIn,
    V1Input,
    V1Output,
    V1Request,
    best_classes,
)
from tritonclient_shim.servers.base import ModelProfile, TensorSpec, shape_text
from tritonclient_shim.translate.classes import ALL_CLASSES, CLASSIFIABLE


@dataclass(frozen=True)
class _Head:
    """A tensor of a call without its data."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class CallPlan:
    """The part of a call that requests of one kind share: all but data, numbers and ids."""

    model_name: str
    model_version: str
    inputs: tuple[_Head, ...]
    outputs: tuple[OutputSpec, ...]
    binary: bool
    has_output_regions: bool

    def bind(self, request: V1Request) -> InferCall:
        """Return the call of a request of this kind."""
        # The records that each run makes are made by position. By name they take three times as
        # long: 8 µs of CPU more per run, of some 140 over HTTP.
        inputs = []
        for head, item in zip(self.inputs, request.inputs):
            inputs.append(
                TensorIn(
                    head.name, head.datatype, head.shape, item.chunks, item.byte_size, item.shm
                )
            )
        flags = request.flags
        return InferCall(
            self.model_name,
            self.model_version,
            tuple(inputs),
            self.outputs,
            str(request.id) if request.id else "",
            request.correlation_id,
            bool(flags & FLAG_SEQUENCE_START),
            bool(flags & FLAG_SEQUENCE_END),
            request.priority,
            request.timeout_us,
            self.binary,
        )


def compile_call(profile: ModelProfile, request: V1Request, protocol: str) -> CallPlan:
    """Return the plan of the call of a request. Raise ServerError where v1's server refused.

    Raise InvalidRequest also for an input of a data type that the table here does not have. Wrong
    dims are the v2 server's to refuse, unless it would find another error first: v1's server looked
    at dims before it looked at regions (docs/v1-behaviour.md §3.4).

    The plan is that of all requests with these inputs without their data, these outputs, and the
    same batch size and version, if all or none of them have a correlation id, and likewise flags.
    """
    profile.dialect.check_request(profile, request)
    number = version(profile.name, request.model_version, protocol)
    if [item for item in request.inputs if item.dims is None or item.shm is not None]:
        for item in request.inputs:
            if item.name in profile.inputs:
                entry_dims(profile, profile.inputs[item.name], item.dims)
    inputs = tuple([_head(profile, item, request.batch_size) for item in request.inputs])
    outputs = _outputs(profile, request)
    return CallPlan(
        model_name=profile.name,
        model_version=number,
        inputs=inputs,
        outputs=outputs,
        binary=profile.dialect.takes_binary,
        has_output_regions=any(output.shm is not None for output in outputs),
    )


def infer_call(profile: ModelProfile, request: V1Request, protocol: str) -> InferCall:
    """Return the v2 call of a request. Raise what :func:`compile_call` raises."""
    return compile_call(profile, request, protocol).bind(request)


def label_call(profile: ModelProfile, request: V1Request, output: str, protocol: str) -> InferCall:
    """Return the call that asks for all classes of an output, with the inputs of a request."""
    call = infer_call(profile, request, protocol)
    everything = OutputSpec(name=output, form=best_classes(ALL_CLASSES))
    return InferCall(call.model_name, call.model_version, call.inputs, (everything,))


def with_first_entry(profile: ModelProfile, request: V1Request) -> V1Request:
    """Return a request for the first batch entry alone.

    Return the whole request if the size of an entry is unknown.
    """
    inputs = first_entry(profile, request)
    return request if inputs is None else request._replace(batch_size=1, inputs=inputs)


def first_entry(profile: ModelProfile, request: V1Request) -> tuple[V1Input, ...] | None:
    """Return the inputs of the first batch entry, with copies of its bytes.

    None if the size of an entry is unknown, as with strings in shared memory. The inputs may have
    no more than the first entry already.
    """
    entries = []
    for item in request.inputs:
        spec = profile.inputs.get(item.name)
        entry = None if spec is None else _first_entry(profile, spec, item)
        if entry is None:
            return None
        entries.append(entry)
    return tuple(entries)


def copied(request: V1Request) -> tuple[V1Input, ...]:
    """Return the inputs of a request with copies of their bytes."""
    return tuple([item._replace(chunks=(b"".join(item.chunks),)) for item in request.inputs])


def _first_entry(profile: ModelProfile, spec: TensorSpec, item: V1Input) -> V1Input | None:
    if spec.is_shape_tensor or not profile.batching:  # all of it
        return item._replace(chunks=(b"".join(item.chunks),) if item.chunks else ())
    dims = spec.dims if item.dims is None else item.dims
    if min(dims, default=0) < 0:
        return None
    is_string = spec.datatype == dtypes.STRING.v2
    size = byte_size(spec.datatype, dims)
    if is_string:
        try:
            size = byte_strings.wire_length(b"".join(item.chunks), prod(dims))
        except ValueError:  # in shared memory, or malformed
            return None
    if size > item.byte_size:  # the server refuses it
        return None
    if item.shm is not None:
        return item._replace(byte_size=size, shm=item.shm._replace(byte_size=size))
    return item._replace(chunks=(_beginning(item.chunks, size),), byte_size=size)


def _beginning(chunks: Sequence[Buffer], size: int) -> bytes:
    """Return the first bytes of chunks that follow each other."""
    needed: list[Buffer] = []
    length = 0
    for chunk in chunks:
        if length >= size:
            break
        needed.append(chunk)
        length += memoryview(chunk).nbytes
    return b"".join(needed)[:size]


def version(model: str, number: int, protocol: str) -> str:
    """Return the v2 text of a version, '' for the latest (docs/v1-behaviour.md §3.1).

    Over HTTP every negative number meant the latest, over gRPC only -1 did.
    """
    if number == -1 or (number < 0 and PROTOCOLS[protocol].negative_is_latest):
        return ""
    if number < 0:
        raise ServerError(
            f"Request for unknown model: '{model}' version {number} is not found", "UNAVAILABLE"
        )
    return str(number)


def _head(profile: ModelProfile, item: V1Input, batch: int) -> _Head:
    spec = profile.inputs.get(item.name)
    if item.datatype and (spec is None or not spec.datatype):
        spec = TensorSpec(item.name, item.datatype, item.dims or ())
    if spec is None:  # since the model has been reloaded
        raise InvalidRequest(f"unexpected inference input '{item.name}' for model '{profile.name}'")
    if not spec.datatype:
        raise profile.dialect.untyped_input(profile, item.name)
    dims = spec.dims if item.dims is None else item.dims
    # A shape tensor stands once for the whole batch.
    batched = profile.batching and not spec.is_shape_tensor
    dims = profile.dialect.entry_shape(profile, spec, dims)
    shape = (batch, *dims) if batched else dims
    return _Head(name=item.name, datatype=spec.datatype, shape=shape)


def entry_dims(
    profile: ModelProfile, spec: TensorSpec, dims: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Return the dims of one batch entry: those of the request, or those configured for None.

    Raise InvalidRequest for dims that do not fit.
    """
    if dims is None and min(spec.dims, default=0) < 0:
        raise InvalidRequest(
            f"model supports variable-size for input '{spec.name}', request must specify "
            f"input shape for model '{profile.name}'"
        )
    if dims is None:
        return spec.dims
    if not fits(dims, spec.dims):
        raise InvalidRequest(
            f"unexpected shape for input '{spec.name}' for model '{profile.name}'. "
            f"Expected {shape_text(spec.dims)}, got {shape_text(dims)}"
        )
    return dims


def fits(dims: tuple[int, ...], configured: tuple[int, ...]) -> bool:
    """True if these dims are those of the configuration, where -1 is any size."""
    return len(dims) == len(configured) and all(
        wanted in (-1, size) for size, wanted in zip(dims, configured)
    )


def _outputs(profile: ModelProfile, request: V1Request) -> tuple[OutputSpec, ...]:
    """Return the requested outputs, each once: as the raw tensor if it is asked for in two forms.

    v1's raw protocol allowed to ask for an output twice. v2's servers answer once.
    """
    specs: dict[str, OutputSpec] = {}
    for item in request.outputs:
        form = _server_form(profile, request, item)
        shm = None if item.form.class_count else item.shm
        spec = OutputSpec(name=item.name, form=form, shm=shm)
        asked = specs.setdefault(item.name, spec).form
        if asked.is_classes and not 0 < form.class_count <= asked.class_count:
            specs[item.name] = spec
    return tuple(specs.values())


def _server_form(profile: ModelProfile, request: V1Request, item: V1Output) -> OutputForm:
    """Return the form in which to ask the server for an output.

    It is the tensor if the output is classified here, or refused after the run, as v1's server
    did. The server itself says that it does not know an output.
    """
    if not item.form.class_count:
        return TENSOR
    spec = profile.outputs.get(item.name)
    if spec is None or spec.datatype not in CLASSIFIABLE:
        return TENSOR
    # Only labels of a stateful model need the server's classes, which have six decimals. A v2
    # server that classifies an empty tensor ends (docs/v2-mapping.md §1).
    labelled = has_labels(profile, spec) and stateful(profile, request)
    if not labelled or min(spec.dims, default=0) <= 0:
        return TENSOR
    return best_classes(min(item.form.class_count, ALL_CLASSES))


def has_labels(profile: ModelProfile, spec: TensorSpec) -> bool:
    """True if the server may have labels of this output. An ensemble's can come from a composing
    model (docs/v1-behaviour.md §4.2).
    """
    labels = bool(spec.label_filename) or profile.ensemble
    return labels and profile.dialect.has_labels


def stateful(profile: ModelProfile, request: V1Request) -> bool:
    """True if another request would change the model. Then labels must come with the reply."""
    return profile.stateful or bool(request.correlation_id or request.flags)


def byte_size(datatype: str, dims: tuple[int, ...]) -> int:
    """Return the bytes of a tensor of fixed size, 0 for strings."""
    return prod(dims) * dtypes.itemsize(datatype)

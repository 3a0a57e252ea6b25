"""V1Request → InferCall: the one place where a v1 request becomes a KServe v2 call.

Both fronts come through here, the contexts and the v1 wire. What v1's *server* refused and
a v2 server must not see, or words differently, is refused here as v1's server did it: as a
:class:`ServerFault`, which the session words with the server's id
(docs/v1-behaviour.md §3.4, §E.1).
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Iterable, Sequence

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import Refusal, ServerFault
from tritonclient_shim.core.model import (
    FLAG_SEQUENCE_END,
    FLAG_SEQUENCE_START,
    HTTP,
    InferCall,
    ModelProfile,
    OutputSpec,
    TensorIn,
    TensorSpec,
    V1Input,
    V1Output,
    V1Request,
)
from tritonclient_shim.translate.capabilities import check_capabilities
from tritonclient_shim.translate.classes import ALL_CLASSES, CLASSIFIABLE


def infer_call(profile: ModelProfile, request: V1Request, protocol: str) -> InferCall:
    """A request and the model it is for → the v2 call; ServerFault where v1's server refused.

    Refusal also for an input of a data type that is newer than the table of them here.

    Wrong dims are the v2 server's to refuse, unless it would find another fault first: v1's
    server looked at dims before it looked at regions (docs/v1-behaviour.md §3.4).
    """
    batch = request.batch_size
    check_capabilities(profile, request)
    number = version(profile.name, request.model_version, protocol)
    if [item for item in request.inputs if item.dims is None or item.shm is not None]:
        check_dims(profile, request.inputs)
    return InferCall(
        profile.name,
        number,
        tuple([_tensor(profile, item, batch) for item in request.inputs]),
        _outputs(profile, request),
        str(request.id) if request.id else "",
        request.correlation_id,
        bool(request.flags & FLAG_SEQUENCE_START),
        bool(request.flags & FLAG_SEQUENCE_END),
        request.priority,
        request.timeout_us,
        profile.server.binary,
    )


def version(model: str, number: int, protocol: str) -> str:
    """v1 version number → v2 version text, '' for the latest (docs/v1-behaviour.md §3.1).

    Over HTTP every negative number meant the latest, over gRPC only -1 did.
    """
    if number == -1 or (number < 0 and protocol == HTTP):
        return ""
    if number < 0:
        raise ServerFault(
            f"Request for unknown model: '{model}' version {number} is not found", "UNAVAILABLE"
        )
    return str(number)


def _tensor(profile: ModelProfile, item: V1Input, batch: int) -> TensorIn:
    spec = profile.inputs.get(item.name)
    if item.datatype and (spec is None or not spec.datatype):
        spec = TensorSpec(item.name, item.datatype, item.dims or ())
    if spec is None:  # since the model has been reloaded
        raise Refusal(
            f"unexpected inference input '{item.name}' for model '{profile.name}'",
            "INVALID_ARGUMENT",
        )
    if not spec.datatype and not profile.server.configurations:
        raise untyped_input(profile, item.name)
    if not spec.datatype:
        raise Refusal(
            f"input '{item.name}' of model '{profile.name}' has a data type that v1 did not have; "
            f"expected one of {dtypes.SHOWN}; send it with tritonclient",
            "UNIMPLEMENTED",
        )
    dims = spec.dims if item.dims is None else item.dims
    # A shape tensor stands once for the whole batch.
    batched = profile.batching and not spec.is_shape_tensor
    if spec.scalar and dims == (1,):
        dims = ()
    shape = (batch, *dims) if batched else dims
    return TensorIn(item.name, spec.datatype, shape, item.chunks, item.byte_size, item.shm)


def untyped_input(profile: ModelProfile, name: str) -> Refusal:
    """The refusal of an input whose data type neither the model nor the request tells."""
    return Refusal(
        f"the server declares no data type of input '{name}' of model '{profile.name}', and "
        "requests of this kind tell none; expected one of the types of KServe v2: name it in the "
        "setting models",
        "INVALID_ARGUMENT",
    )


def check_dims(profile: ModelProfile, inputs: Iterable[V1Input]) -> None:
    """Raise Refusal for the first input whose dims are missing or do not fit
    (docs/v1-behaviour.md §3.4).
    """
    for item in inputs:
        if item.name in profile.inputs:
            entry_dims(profile, profile.inputs[item.name], item.dims)


def entry_dims(
    profile: ModelProfile, spec: TensorSpec, given: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Dims of one batch entry: as given, or as configured; Refusal where they do not fit."""
    if given is None and min(spec.dims, default=0) < 0:
        raise Refusal(
            f"model supports variable-size for input '{spec.name}', request must specify "
            f"input shape for model '{profile.name}'",
            "INVALID_ARGUMENT",
        )
    if given is None:
        return spec.dims
    if not fits(given, spec.dims):
        raise Refusal(
            f"unexpected shape for input '{spec.name}' for model '{profile.name}'. "
            f"Expected {shape_text(spec.dims)}, got {shape_text(given)}",
            "INVALID_ARGUMENT",
        )
    return given


def fits(given: tuple[int, ...], configured: tuple[int, ...]) -> bool:
    """Are these dims those of the configuration, where -1 is any size?"""
    return len(given) == len(configured) and all(
        wanted in (-1, size) for size, wanted in zip(given, configured)
    )


def shape_text(dims: Sequence[int]) -> str:
    """Dims → as v1's server wrote them, without spaces (docs/v1-behaviour.md §3.4)."""
    return "[" + ",".join(str(size) for size in dims) + "]"


def _outputs(profile: ModelProfile, request: V1Request) -> tuple[OutputSpec, ...]:
    """Requested outputs → each once; one asked for in two forms comes as the raw tensor.

    v1's raw protocol allowed to ask for an output twice; v2's servers answer one of the two.
    """
    items = request.outputs
    if not [item for item in items if item.class_count or item.shm]:
        return _raw_specs(tuple([item.name for item in items]))
    specs: dict[str, OutputSpec] = {}
    for item in items:
        spec = _output(profile, request, item)
        known = specs.setdefault(spec.name, spec)
        if known.class_count and spec.class_count:
            specs[spec.name] = max(known, spec, key=lambda each: each.class_count)
        elif known.class_count:
            specs[spec.name] = spec
    return tuple(specs.values())


@lru_cache(maxsize=1024)
def _raw_specs(names: tuple[str, ...]) -> tuple[OutputSpec, ...]:
    """Names of raw outputs → what to ask of the server, each once."""
    return tuple([OutputSpec(name) for name in dict.fromkeys(names)])


def _output(profile: ModelProfile, request: V1Request, item: V1Output) -> OutputSpec:
    if not item.class_count:
        return OutputSpec(item.name, 0, item.shm)
    spec = profile.outputs.get(item.name)
    if spec is None:
        return OutputSpec(item.name)  # the server says that it does not know it
    if spec.datatype in CLASSIFIABLE and server_classifies(profile, request, spec):
        return OutputSpec(item.name, min(item.class_count, ALL_CLASSES))
    return OutputSpec(item.name)  # classified here, or refused, as v1's server did, after the run


def has_labels(profile: ModelProfile, spec: TensorSpec) -> bool:
    """May the server have labels of this output? An ensemble's can come from a composing model
    (docs/v1-behaviour.md §4.2).
    """
    labels = bool(spec.label_filename) or profile.ensemble
    return labels and profile.server.configurations


def stateful(profile: ModelProfile, request: V1Request) -> bool:
    """Would asking the model once more change it? Then labels must come with the reply."""
    return profile.stateful or bool(request.correlation_id or request.flags)


def server_classifies(profile: ModelProfile, request: V1Request, spec: TensorSpec) -> bool:
    """Leave the classification to the server, with its six decimals?

    Only for labels of a stateful model, and only where the tensor cannot be empty: asked to
    classify an empty tensor, a v2 server ends (docs/v2-mapping.md §1).
    """
    if not (has_labels(profile, spec) and stateful(profile, request)):
        return False
    return bool(spec.dims) and min(spec.dims) > 0


def byte_size(datatype: str, dims: tuple[int, ...]) -> int:
    """v2 data type and dims → bytes of a fixed-size tensor, 0 for strings."""
    return prod(dims) * dtypes.itemsize(datatype)

"""``doctor``: whether a server answers, and which of its models the old API can use."""

from __future__ import annotations

from typing import Callable, Iterator

from tritonclient_shim import settings
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.cli._findings import NOTE, OK, WRONG, Finding
from tritonclient_shim.core.errors import Fault, ForeignFault, InferenceServerException
from tritonclient_shim.core.model import ModelProfile, TensorSpec
from tritonclient_shim.session.models import KnownModel
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate.endpoint import parse_url

_READY = "READY"


def server(url: str, protocol: str) -> Iterator[Finding]:
    """Findings about the server, then about each of its models."""
    try:
        session = ServerSession(parse_url(url, protocol))
        with session.guard(no_status_text="whoever answers is no KServe v2 server"):
            yield from _identity(session.backend)
            yield from _models(session.backend)
        session.close()
    except (InferenceServerException, ValueError) as error:
        text = error.message() if isinstance(error, InferenceServerException) else str(error)
        yield Finding(WRONG, f"{text}. {_advice(protocol)}")


def _advice(protocol: str) -> str:
    other = "grpc" if protocol == "http" else "http"
    return f"Check address and protocol, which --protocol {other} changes; TLS is a setting"


def _identity(backend: Backend) -> Iterator[Finding]:
    try:
        known = backend.server_metadata()
    except ForeignFault:
        yield Finding(NOTE, "if it is a v1 server, it needs NVIDIA's own client")
        raise
    yield Finding(OK, f"it is {known.name!r}, version {known.version}")
    ready = backend.ready()
    yield Finding(OK if ready else NOTE, "ready" if ready else "live, but not ready")


def _models(backend: Backend) -> Iterator[Finding]:
    try:
        rows = backend.repository_index()
    except Fault as fault:
        if not fault.no_such_call:
            raise
        yield Finding(NOTE, "it has no list of its models over this protocol")
        return
    for name in sorted({row.name for row in rows}):
        states = {row.state for row in rows if row.name == name}
        if _READY in states:
            yield _model(backend, name)
        else:
            reasons = sorted({row.reason for row in rows if row.name == name and row.reason})
            why = f": {'; '.join(reasons)}" if reasons else ""
            yield Finding(NOTE, f"model {name!r} is not loaded{why}")


def _model(backend: Backend, name: str) -> Finding:
    try:
        profile = KnownModel(name, declared=settings.current().declared(name)).read(backend)
    except Fault as fault:
        return Finding(WRONG, f"model {name!r} has no readable configuration: {fault}")
    level, remarks = OK, []
    if profile.server is not None:
        remarks.append(_described(profile))
    for worse, rule in _RULES:
        for remark in rule(profile):
            level = worse if level != WRONG else level
            remarks.append(remark)
    return Finding(level, f"model {name!r}: {'; '.join(remarks) or 'covered'}")


def _described(profile: ModelProfile) -> str:
    """What is known of a model whose server has no model configurations."""
    if profile.open_inputs:
        return (
            "its server tells no inputs: contexts take any, raw stubs and the gateway need them in "
            "the setting models"
        )
    return "described by its metadata; the setting models says what they leave out"


def _decoupled(profile: ModelProfile) -> Iterator[str]:
    if profile.decoupled:
        yield (
            "decoupled: v1 had one answer per request; use tritonclient.grpc's "
            "async_stream_infer, for example on unwrap(context)"
        )


def _newer_types(profile: ModelProfile) -> Iterator[str]:
    for spec in _tensors(profile):
        if spec.datatype in ("BF16", ""):
            kind = spec.datatype or "a datatype newer than this package"
            yield f"tensor {spec.name!r} is {kind}, which v1 did not have; use unwrap(context)"


def _labels(profile: ModelProfile) -> Iterator[str]:
    labelled = [spec.name for spec in profile.outputs.values() if spec.label_filename]
    if profile.stateful and labelled:
        yield (
            "stateful with labels: CLASS results have the server's six decimals, for a second "
            "request would advance the sequence"
        )
    elif profile.ensemble:
        return  # labels can come from a composing model (docs/v1-behaviour.md §4.2)
    elif not labelled and any(_could_classify(spec) for spec in profile.outputs.values()):
        yield "covered; no output names a label file, so CLASS results have no labels"


def _could_classify(spec: TensorSpec) -> bool:
    return spec.datatype in ("FP32", "FP64")


def _tensors(profile: ModelProfile) -> list[TensorSpec]:
    return [*profile.inputs.values(), *profile.outputs.values()]


_RULES: tuple[tuple[str, Callable[[ModelProfile], Iterator[str]]], ...] = (
    (WRONG, _decoupled),
    (WRONG, _newer_types),
    (OK, _labels),
)

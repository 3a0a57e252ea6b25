"""``doctor``: whether a server answers, and which of its models the old API can use."""

from __future__ import annotations

from typing import Callable, Iterator, TypeVar

from tritonclient_shim import settings
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.cli._checks import NOTE, OK, WRONG, Finding
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.addresses import without_user
from tritonclient_shim.core.daemon_executor import within
from tritonclient_shim.core.errors import (
    Fault,
    ForeignFault,
    InferenceServerException,
    TransportFault,
)
from tritonclient_shim.core.model import GRPC, HTTP, ModelProfile, TensorSpec
from tritonclient_shim.session.models import KnownModel
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate.endpoint import parse_url

_READY = "READY"
_NAMES = {HTTP: "HTTP", GRPC: "gRPC"}
_PORTS = {HTTP: 8000, GRPC: 8001}
_ADVICE = (
    "Check that the server runs, its address and its port: by default 8000 is Triton's for HTTP, "
    "8001 for gRPC. TLS is a setting (tritonclient-shim guide settings)"
)
_Answer = TypeVar("_Answer")


class _Probe:
    """Asks a server over one protocol, and gives each answer up after some seconds."""

    def __init__(self, url: str, protocol: str, seconds: float) -> None:
        self.protocol = protocol
        self._session = ServerSession(parse_url(url, protocol))
        self._seconds = seconds

    def ask(self, question: Callable[[Backend], _Answer]) -> _Answer:
        """Return the reply; raise Fault on an error, and if none comes in time."""
        try:
            return within(self._seconds, lambda: question(self._session.backend))
        except TimeoutError:
            raise TransportFault(f"no answer within {self._seconds:g} seconds") from None

    def worded(self, fault: Fault) -> str:
        """Return the message that a script would get."""
        nobody = "whoever answers is no KServe v2 server"
        return str(self._session.fault_to_error(fault, no_status_text=nobody).message())


def server(url: str, protocol: str, seconds: float, listed: bool) -> Iterator[Finding]:
    """Yield findings about the server, then its models; covered models only if ``listed``.

    It is asked over the other protocol, too, where it does not answer over the one given.
    """
    wanted, shown = protocol or HTTP, without_user(url)
    refused: list[Finding] = []
    for kind in (wanted, GRPC if wanted == HTTP else HTTP):
        try:
            probe = _Probe(url, kind, seconds)
            known = probe.ask(lambda backend: backend.server_metadata())
        except Fault as fault:
            refused += _no_server(shown, probe, fault)
            continue
        except (InferenceServerException, ValueError) as error:
            text = error.message() if isinstance(error, InferenceServerException) else str(error)
            yield Finding(WRONG, str(text))
            return
        if protocol and kind != protocol:
            yield Finding(WRONG, _swapped(shown, kind))
        yield Finding(OK, f"it is {known.name!r}, version {known.version}, over {_NAMES[kind]}")
        yield from _answering(probe, listed)
        return
    yield from refused
    yield Finding(NOTE, _ADVICE)


def _no_server(url: str, probe: _Probe, fault: Fault) -> Iterator[Finding]:
    """Yield findings about a server that does not answer over a protocol."""
    yield Finding(WRONG, f"{url} over {_NAMES[probe.protocol]}: {probe.worded(fault)}")
    if isinstance(fault, ForeignFault):
        yield Finding(NOTE, "if it is a v1 server, it needs NVIDIA's own client")


def _swapped(url: str, kind: str) -> str:
    """Return the text for an address that is the other protocol's port."""
    asked, there = (HTTP, GRPC) if kind == GRPC else (GRPC, HTTP)
    return (
        f"{url} is a server's {_NAMES[there]} port, and was to be asked over {_NAMES[asked]}: give "
        f"the script the {_NAMES[asked]} port (by default {_PORTS[asked]}), or "
        f'ProtocolType.from_str("{there}")'
    )


def _answering(probe: _Probe, listed: bool) -> Iterator[Finding]:
    """Yield findings about a server that answers, and its models."""
    try:
        ready = probe.ask(lambda backend: backend.ready())
        yield Finding(OK if ready else NOTE, "ready" if ready else "live, but not ready")
        models = [*_models(probe)]
        covered = [finding for finding in models if finding.level == OK]
        yield from (finding for finding in models if listed or finding.level != OK)
        if covered and not listed:
            models_of = "model" if len(covered) == 1 else "models"
            yield Finding(OK, f"{len(covered)} {models_of}: covered; --models lists them")
    except Fault as fault:
        yield Finding(WRONG, f"{probe.worded(fault)}, after it had answered other questions")


def _models(probe: _Probe) -> Iterator[Finding]:
    try:
        rows = probe.ask(lambda backend: backend.repository_index())
    except Fault as fault:
        if not fault.no_such_call:
            raise
        yield Finding(NOTE, "it has no list of its models over this protocol")
        return
    for name in sorted({row.name for row in rows}):
        states = {row.state for row in rows if row.name == name}
        if _READY in states:
            yield _model(probe, name)
        else:
            reasons = sorted({row.reason for row in rows if row.name == name and row.reason})
            why = f": {'; '.join(reasons)}" if reasons else ""
            yield Finding(NOTE, f"model {name!r} is not loaded{why}")


def _model(probe: _Probe, name: str) -> Finding:
    declared = settings.current().declared(name)
    try:
        profile = probe.ask(KnownModel(name, declared=declared).read)
    except TransportFault:
        raise  # the others would have to be waited for as well
    except Fault as fault:
        return Finding(WRONG, f"model {name!r} has no readable configuration: {fault}")
    remarks = [_described(profile)] if not profile.server.configurations else []
    levels = [OK]
    for level, rule in _RULES:
        told = [*rule(profile)]
        remarks += told
        levels += [level] if told else []
    worst = max(levels, key=(OK, NOTE, WRONG).index)
    return Finding(worst, f"model {name!r}: {'; '.join(remarks) or 'covered'}")


def _described(profile: ModelProfile) -> str:
    """Return what is known of a model whose server has no model configurations."""
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
        if dtypes.v1_name(spec.datatype) in ("TYPE_INVALID", *dtypes.NEWER):
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
    (NOTE, _newer_types),
    (OK, _labels),
)

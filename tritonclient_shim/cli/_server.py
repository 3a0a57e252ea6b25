"""``doctor``: whether a server answers, and which of its models the old API can use."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Callable, Iterator, TypeVar

from tritonclient_shim import settings
from tritonclient_shim.backends import effective_endpoint, open_backend
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.cli import count
from tritonclient_shim.cli._findings import NOTE, OK, WRONG, Finding
from tritonclient_shim.concurrency.daemon_executor import within
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InferenceServerException,
    TransportError,
)
from tritonclient_shim.core.model import HTTP, PROTOCOLS, Endpoint
from tritonclient_shim.session.models import KnownModel
from tritonclient_shim.session.server import ServerSession, shown_status
from tritonclient_shim.settings.addresses import without_user
from tritonclient_shim.translate.constructors import parse_url

#: Seconds to wait for each reply.
PATIENCE = 10.0
_ADVICE = (
    "Check that the server runs, its address and its port: by default 8000 is Triton's for HTTP, "
    "8001 for gRPC. TLS is a setting (tritonclient-shim guide settings)"
)
_FOREIGN = ". If it is a v1 server, it needs NVIDIA's own client"
_Answer = TypeVar("_Answer")


class _Probe:
    """Asks a server over one protocol; each call has a timeout."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = PROTOCOLS[endpoint.protocol].title
        self._session = ServerSession(endpoint)

    @property
    def effective(self) -> Endpoint:
        """Return the endpoint that is asked, which settings may replace."""
        return effective_endpoint(self.endpoint, self._session.settings)

    def proxy(self) -> list[Finding]:
        """Return a note about the proxy that calls take, if they take one."""
        text = self._session.shown_proxy()
        return [Finding(NOTE, f"over {self.name}, {text}")] if text else []

    def ask(self, question: Callable[[Backend], _Answer]) -> _Answer:
        """Return the reply; raise BackendError for an error or a timeout."""
        try:
            return within(PATIENCE, lambda: question(self._session.backend))
        except TimeoutError:
            raise TransportError(f"no answer within {PATIENCE:g} seconds") from None

    def worded(self, error: BackendError) -> str:
        """Return the message that a script would get."""
        nobody = "whoever answers is no KServe v2 server"
        return str(self._session.to_v1_error(error, no_status_text=nobody).message())


def server(arguments: argparse.Namespace) -> Iterator[Finding]:
    """Yield findings about the server, then about its models.

    A server that does not answer over the protocol of the script is asked over the other one.
    """
    url = arguments.url
    shown = without_user(arguments.url)
    script = arguments.protocol or HTTP
    refusals: list[str] = []
    for protocol in sorted(PROTOCOLS, key=lambda protocol: protocol != script):
        try:
            probe = _Probe(parse_url(url, protocol))
            metadata = probe.ask(lambda backend: backend.server_metadata())
        except BackendError as error:
            refusals.append(f"{shown} over {probe.name}: {probe.worded(error)}{_clue(error)}")
            yield from _other_ways(probe, error)
            continue
        except (InferenceServerException, ValueError) as error:
            yield Finding(WRONG, reason_of(error))
            return
        if arguments.protocol and protocol != script:
            expected = PROTOCOLS[script]
            yield Finding(
                WRONG,
                f"{shown} is a server's {probe.name} port, and was to be asked over "
                f"{expected.title}: give the script the {expected.title} port (by default "
                f'{expected.port}), or ProtocolType.from_str("{protocol}")',
            )
        yield Finding(OK, f"it is {metadata.name!r}, version {metadata.version}, over {probe.name}")
        yield from probe.proxy()
        yield from _answering(probe)
        return
    yield from (Finding(WRONG, text) for text in (*refusals[:-1], f"{refusals[-1]}. {_ADVICE}"))


def _clue(error: BackendError) -> str:
    """Return what the answer of somebody who is no v2 server says beyond v1's text."""
    if not isinstance(error, ForeignError):
        return ""
    return f". {shown_status(error.http_status)}" if error.http_status else _FOREIGN


def _other_ways(probe: _Probe, error: BackendError) -> Iterator[Finding]:
    """Yield the proxy on the way to a server, and whether it answers without proxy or TLS."""
    proxies = probe.proxy()
    yield from proxies
    if proxies and _answers_directly(probe.endpoint):
        yield Finding(
            WRONG,
            f"it answers over {probe.name} without the proxy: add its host to no_proxy",
        )
    if probe.effective.secure and _answers_without_tls(probe.effective):
        yield Finding(
            WRONG,
            f"the port speaks no TLS: over {probe.name} it answers without. Write the address "
            "without https:// or grpcs://, or set TRITON_SHIM_TLS=off",
        )


def _answers_directly(endpoint: Endpoint) -> bool:
    """True if the server answers once no proxy is on the way."""
    current = settings.current()
    arguments = dict(current.grpc_channel_arguments)
    arguments["grpc.enable_http_proxy"] = 0
    chosen = replace(current, grpc_channel_arguments=(*arguments.items(),))
    with settings.without_proxies():
        return _answers(endpoint, chosen)


def _answers_without_tls(endpoint: Endpoint) -> bool:
    """True if the server answers without TLS."""
    plain = Endpoint(endpoint.protocol, endpoint.address, secure=False)
    return _answers(plain, replace(settings.current(), tls="off", rewrite_addresses=()))


def _answers(endpoint: Endpoint, chosen: settings.Settings) -> bool:
    """True if a v2 server answers at the endpoint."""
    try:
        backend = open_backend(endpoint, settings=chosen)
        within(PATIENCE, backend.server_metadata)
    except (BackendError, TimeoutError, ValueError):
        return False
    return True


def reason_of(error: Exception) -> str:
    """Return an error's text, without the brackets that v1's ``str`` puts before it."""
    return str(error.message() if isinstance(error, InferenceServerException) else error)


def _answering(probe: _Probe) -> Iterator[Finding]:
    """Yield findings about a server that answers, and about its models."""
    try:
        ready = probe.ask(lambda backend: backend.ready())
        yield Finding(OK if ready else NOTE, "ready" if ready else "live, but not ready")
        yield from _models(probe)
    except BackendError as error:
        yield Finding(WRONG, f"{probe.worded(error)}, after it had answered other questions")


def _models(probe: _Probe) -> Iterator[Finding]:
    """Yield each remark on a model, then how many models have none."""
    try:
        rows = probe.ask(lambda backend: backend.repository_index())
    except BackendError as error:
        if not error.no_such_call:
            raise
        yield Finding(NOTE, "it has no list of its models over this protocol")
        return
    ready = sorted({row.name for row in rows if row.state == "READY"})
    reasons = {row.name: row.reason for row in rows if row.name not in ready}
    for name, reason in sorted(reasons.items()):
        text = f"model {name!r} is not loaded"
        yield Finding(NOTE, f"{text}: {reason}" if reason else text)
    remarks = {name: [*_remarks(probe, name)] for name in ready}
    for findings in remarks.values():
        yield from findings
    covered = sum(not findings for findings in remarks.values())
    if covered:
        yield Finding(OK, f"{count(covered, 'model')} without remarks: covered")


def _remarks(probe: _Probe, name: str) -> Iterator[Finding]:
    """Yield what the old API cannot do with a model."""
    declared = settings.current().declared(name)
    try:
        profile = probe.ask(KnownModel(name, declared=declared).read)
    except TransportError:
        raise  # each further model would take as long
    except BackendError as error:
        yield Finding(WRONG, f"model {name!r} has no readable configuration: {error}")
        return
    if profile.decoupled:
        yield Finding(
            WRONG,
            f"model {name!r} is decoupled, and v1 had one answer per request; use "
            "tritonclient.grpc's async_stream_infer, for example on unwrap(context)",
        )
    for spec in (*profile.inputs.values(), *profile.outputs.values()):
        if dtypes.v1_name(spec.datatype) in ("TYPE_INVALID", *dtypes.NEWER):
            kind = spec.datatype or "a datatype newer than this package"
            yield Finding(
                NOTE,
                f"model {name!r}: tensor {spec.name!r} is {kind}, which v1 did not have; use "
                "unwrap(context)",
            )

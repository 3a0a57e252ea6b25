"""How a gRPC channel is made: target, arguments, credentials, and what is added to each call."""

from __future__ import annotations

import re
import socket
import ssl
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Tuple, Union
from urllib.parse import quote, unquote

import grpc

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.grpc.errors import (
    CONNECT_FAILED,
    NO_SUCH_NAME,
    StatusCode,
    transport_fault,
)
from tritonclient_shim.backends.grpc.framing import LIMIT
from tritonclient_shim.backends.headers import Plugin, current_headers, headers_after
from tritonclient_shim.backends.tls import Tls
from tritonclient_shim.core import addresses
from tritonclient_shim.core.addresses import split_port
from tritonclient_shim.core.errors import TransportFault, TransportKind
from tritonclient_shim.settings import Settings

Option = Tuple[str, Union[int, str]]

_BASE: tuple[Option, ...] = (
    ("grpc.max_send_message_length", LIMIT),
    ("grpc.max_receive_message_length", LIMIT),
    # After a failure gRPC waits before it connects again. The wait belongs to a pool of sockets: a
    # new channel that has a pool of its own connects at once.
    ("grpc.use_local_subchannel_pool", 1),
)
_ALGORITHMS = {"deflate": 1, "gzip": 2}  # of gRPC's compression.h


def options_of(settings: Settings) -> tuple[Option, ...]:
    """Return all channel arguments, those that the user gives by name last and so decisive."""
    wanted = [*_BASE, *_of_settings(settings), *settings.grpc_channel_arguments]
    return tuple(dict(wanted).items())


def _of_settings(settings: Settings) -> Iterator[Option]:
    if settings.grpc_compression in _ALGORITHMS:
        algorithm = _ALGORITHMS[settings.grpc_compression]
        yield "grpc.default_compression_algorithm", algorithm
    if settings.grpc_load_balancing != "pick_first":
        yield "grpc.lb_policy_name", settings.grpc_load_balancing
    if settings.connect_timeout is not None:
        milliseconds = _milliseconds(settings.connect_timeout)
        yield "grpc.min_reconnect_backoff_ms", milliseconds  # limits one attempt, too
        yield "grpc.initial_reconnect_backoff_ms", milliseconds
    if settings.keepalive_time is not None:
        yield from _keepalive(settings, settings.keepalive_time)
    if settings.proxy == "off":
        yield "grpc.enable_http_proxy", 0
    elif settings.proxy != "environment":
        yield "grpc.http_proxy", settings.proxy


def _keepalive(settings: Settings, time: float) -> Iterator[Option]:
    yield "grpc.keepalive_time_ms", _milliseconds(time)
    patience = _milliseconds(settings.keepalive_timeout or 20.0)
    yield "grpc.keepalive_timeout_ms", patience
    yield "grpc.http2.ping_timeout_ms", patience  # what newer grpcio goes by, else a minute
    if settings.keepalive_without_calls:
        yield "grpc.keepalive_permit_without_calls", 1
        yield "grpc.http2.max_pings_without_data", 0


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


_PARTIAL_CHAIN = 0x80000  # X509_V_FLAG_PARTIAL_CHAIN; the ssl module names it since 3.10


def check_files(files: Tls) -> None:
    """SettingsError unless the files are what they should be; gRPC itself would only log it."""
    if files != tls.DEFAULT:
        tls.client_context(files)


def channel_credentials(target: str, files: Tls, timeout: float | None) -> tuple[Any, list[Option]]:
    """Channel credentials for a target, and the channel arguments that belong to them."""
    roots = _content(files.roots)
    options: list[Option] = []
    if files.insecure:
        roots, name = _server_certificate(target, files, timeout)
        options = [("grpc.ssl_target_name_override", name)]
    made = grpc.ssl_channel_credentials(roots, _content(files.key), _content(files.certificate))
    return made, options


def _content(pem: tls.Pem | None) -> bytes | None:
    return None if pem is None else pem.content


def _server_certificate(target: str, files: Tls, timeout: float | None) -> tuple[bytes, str]:
    """Return the certificate that the server presents now, and a name that it is valid for.

    gRPC cannot be told to verify nothing; it is told to trust this certificate.
    """
    address, context = _host_and_port(target), tls.client_context(files)
    try:
        pem = ssl.DER_cert_to_PEM_cert(_peer_certificate(address, timeout, context, True) or b"")
        # the ssl module reads only a certificate that it trusts
        context.load_verify_locations(cadata=pem)
        context.verify_flags |= _PARTIAL_CHAIN
        context.verify_mode = ssl.CERT_REQUIRED
        return pem.encode("ascii"), _name_in(_peer_certificate(address, timeout, context, False))
    except (OSError, ValueError) as error:
        kind = TransportKind.UNREACHABLE
        raise transport_fault(StatusCode.UNAVAILABLE, CONNECT_FAILED, kind) from error


def _peer_certificate(
    address: tuple[str, int], timeout: float | None, context: ssl.SSLContext, binary: bool
) -> Any:
    plain = socket.create_connection(address, timeout)
    with plain, context.wrap_socket(plain, server_hostname=address[0]) as secure:
        return secure.getpeercert(binary_form=binary)


def _name_in(certificate: Any) -> str:
    for kind, name in certificate.get("subjectAltName", ()):
        if kind in ("DNS", "IP Address"):
            return str(name).replace("*", "any", 1)
    names = dict(pair for part in certificate.get("subject", ()) for pair in part)
    return str(names.get("commonName", ""))


def _host_and_port(target: str) -> tuple[str, int]:
    """Return the first address of a target."""
    scheme, _, rest = target.partition(":")
    address = rest.lstrip("/") if scheme == "dns" else rest
    host, port = split_port(unquote(address.partition(",")[0]))
    return host, int(port)


class _CallFields(NamedTuple):
    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: Any
    compression: Any


class Details(_CallFields, grpc.ClientCallDetails):
    """gRPC's description of a call."""


def interceptor_of(settings: Settings, plugin: Plugin | None) -> CallInterceptor | None:
    """Return what adds to calls as the settings say; None if they add nothing."""
    wanted = (settings.network_timeout, settings.grpc_metadata, plugin)
    return None if wanted == (None, (), None) else CallInterceptor(*wanted)


class CallInterceptor(
    grpc.UnaryUnaryClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """``timeout``, in seconds, is that of unary calls; a stream may last as long as it likes."""

    def __init__(
        self,
        timeout: float | None,
        metadata: tuple[tuple[str, str], ...],
        plugin: Plugin | None,
    ) -> None:
        self._timeout = timeout
        self._metadata = metadata
        self._plugin = plugin

    def intercept_unary_unary(self, continuation: Callable[..., Any], call: Any, one: Any) -> Any:
        """Call with the time limit, unless the call has its own, and with the metadata."""
        timeout = self._timeout if call.timeout is None else call.timeout
        return continuation(self._details(call, timeout), one)

    def intercept_stream_unary(
        self, continuation: Callable[..., Any], call: Any, several: Any
    ) -> Any:
        """Treat a large message, which is sent as a stream, like any other."""
        return self.intercept_unary_unary(continuation, call, several)

    def intercept_stream_stream(
        self, continuation: Callable[..., Any], call: Any, several: Any
    ) -> Any:
        """Open a stream with the metadata."""
        return continuation(self._details(call, call.timeout), several)

    def _details(self, call: Any, timeout: float | None) -> Details:
        return Details(
            call.method,
            timeout,
            self.metadata_with(tuple(call.metadata or ())),
            call.credentials,
            getattr(call, "wait_for_ready", None),
            getattr(call, "compression", None),
        )

    def metadata_with(self, given: tuple[tuple[str, Any], ...]) -> Iterable[tuple[str, Any]]:
        """Return the metadata of a call; ``given`` replaces what the settings say by that name."""
        metadata = self._metadata
        for more in (current_headers(), given):
            names = {name for name, _ in more}
            metadata = (*(pair for pair in metadata if pair[0] not in names), *more)
        if self._plugin is None:
            return metadata
        changed = headers_after(self._plugin, dict(metadata))
        return tuple((name.lower(), value) for name, value in changed.items())


_DNS = re.compile(r"dns:(?:///)?(?=.*:)")  # a host may be called dns, too
_HOST = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[^\[\s?#%,]+")
#: Address lists and sockets, which gRPC reads itself.
_OWN_SCHEMES = ("unix:", "ipv4:", "ipv6:")


def target_of(address: str) -> str:
    """``host:port`` → an unambiguous gRPC target.

    gRPC itself would supply a missing port and reduce a large one modulo 2^16, and so contact
    somebody else (docs/v2-mapping.md §6); such addresses fail here as unresolvable names, like
    v1's.
    """
    if address.startswith(_OWN_SCHEMES):
        return address
    scheme = _DNS.match(address)
    found = addresses.parse(address[scheme.end() :] if scheme else address)
    if found is None or found.scheme or found.user is not None or found.prefix:
        raise unresolvable()
    port = int(found.port) if found.port and len(found.port) <= 5 else 0
    if not (0 < port < 2**16 and _HOST.fullmatch(found.host)):
        raise unresolvable()
    return f"dns:///{quote(found.host, safe=':')}:{port}"


def unresolvable() -> TransportFault:
    """v1's fault for a name that cannot be resolved (docs/v1-behaviour.md §3.1)."""
    return transport_fault(StatusCode.UNAVAILABLE, NO_SUCH_NAME, TransportKind.UNREACHABLE)


def open_channel(api: Any, place: tuple[str, Any, Any]) -> Any:
    """Open a channel beside tritonclient's, with its options; ``api`` is grpc or grpc.aio."""
    target, made, options = place
    if made is not None:
        return api.secure_channel(target, made, options=options)
    return api.insecure_channel(target, options=options)

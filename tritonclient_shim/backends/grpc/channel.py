"""How a gRPC channel is made: target, arguments, credentials, and what is added to each call."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Tuple, Union
from urllib.parse import quote

import grpc

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.grpc.errors import (
    NO_SUCH_NAME,
    StatusCode,
    transport_error,
)
from tritonclient_shim.backends.grpc.framing import LIMIT
from tritonclient_shim.backends.headers import Plugin, current_headers, headers_after
from tritonclient_shim.backends.tls import Tls
from tritonclient_shim.core import addresses
from tritonclient_shim.core.errors import TransportError, TransportKind
from tritonclient_shim.settings import Settings, SettingsError

Option = Tuple[str, Union[int, str]]

_BASE: tuple[Option, ...] = (
    ("grpc.max_send_message_length", LIMIT),
    ("grpc.max_receive_message_length", LIMIT),
    # After a failure gRPC waits before it connects again. The wait belongs to a pool of sockets: a
    # new channel that has a pool of its own connects at once.
    ("grpc.use_local_subchannel_pool", 1),
)


def options_of(settings: Settings) -> tuple[Option, ...]:
    """Return all channel arguments, those that the user gives by name last and so decisive."""
    wanted = [*_BASE, *_of_settings(settings), *settings.grpc_channel_arguments]
    return tuple(dict(wanted).items())


def _of_settings(settings: Settings) -> Iterator[Option]:
    if settings.connect_timeout is not None:
        milliseconds = _milliseconds(settings.connect_timeout)
        yield "grpc.min_reconnect_backoff_ms", milliseconds  # limits one attempt, too
        yield "grpc.initial_reconnect_backoff_ms", milliseconds
    if settings.keepalive_time is not None:
        yield "grpc.keepalive_time_ms", _milliseconds(settings.keepalive_time)
        patience = _milliseconds(settings.keepalive_timeout or 20.0)
        yield "grpc.keepalive_timeout_ms", patience
        yield "grpc.http2.ping_timeout_ms", patience  # what newer grpcio goes by, else a minute
    if settings.proxy == "off":
        yield "grpc.enable_http_proxy", 0
    elif settings.proxy != "environment":
        yield "grpc.http_proxy", settings.proxy


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


_INSECURE = (
    "insecure is on, but gRPC verifies every server; expected insecure for HTTP alone. Over gRPC, "
    "give the server's certificate as root_certificates, and its name as "
    "grpc.ssl_target_name_override in grpc_channel_arguments"
)


def check_files(files: Tls) -> None:
    """SettingsError unless the files are what they should be; gRPC itself would only log it."""
    if files.insecure:
        raise SettingsError(_INSECURE)
    if files != tls.DEFAULT:
        tls.client_context(files)


def channel_credentials(files: Tls) -> Any:
    """Return the credentials of a secure channel."""
    pems = (files.roots, files.key, files.certificate)
    return grpc.ssl_channel_credentials(*[None if pem is None else pem.content for pem in pems])


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

    def metadata_with(self, own: tuple[tuple[str, Any], ...]) -> Iterable[tuple[str, Any]]:
        """Return the metadata of a call; ``given`` replaces what the settings say by that name."""
        metadata = self._metadata
        for more in (current_headers(), own):
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
    parts = addresses.parse(address[scheme.end() :] if scheme else address)
    if parts is None or parts.scheme or parts.user is not None or parts.prefix:
        raise unresolvable()
    port = int(parts.port) if parts.port and len(parts.port) <= 5 else 0
    if not (0 < port < 2**16 and _HOST.fullmatch(parts.host)):
        raise unresolvable()
    return f"dns:///{quote(parts.host, safe=':')}:{port}"


def unresolvable() -> TransportError:
    """v1's error for a name that cannot be resolved (docs/v1-behaviour.md §3.1)."""
    return transport_error(StatusCode.UNAVAILABLE, NO_SUCH_NAME, TransportKind.UNREACHABLE)


def open_channel(api: Any, place: tuple[str, Any, Any]) -> Any:
    """Open a channel beside tritonclient's, with its options; ``api`` is grpc or grpc.aio."""
    target, credentials, options = place
    if credentials is not None:
        return api.secure_channel(target, credentials, options=options)
    return api.insecure_channel(target, options=options)

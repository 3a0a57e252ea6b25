"""A gRPC channel: its target, arguments and credentials, what is added to each call."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, Callable, Tuple, Union
from urllib.parse import quote

import grpc
from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.base import CallHeaders
from tritonclient_shim.backends.grpc.errors import (
    NO_SUCH_NAME,
    StatusCode,
    transport_error,
)
from tritonclient_shim.backends.grpc.framing import LIMIT
from tritonclient_shim.core.errors import TransportError, TransportKind
from tritonclient_shim.settings import Settings, addresses

_SERVICE = "/inference.GRPCInferenceService/"
INFER = f"{_SERVICE}ModelInfer"
STREAM = f"{_SERVICE}ModelStreamInfer"

Option = Tuple[str, Union[int, str]]

#: Bytes of a server's headers and refusals.
_LARGEST_METADATA = 4 * 1024 * 1024

_BASE: tuple[Option, ...] = (
    ("grpc.max_send_message_length", LIMIT),
    ("grpc.max_receive_message_length", LIMIT),
    # A refusal, such as a traceback of a model, is metadata. By default gRPC drops more than 8 KB.
    ("grpc.max_metadata_size", _LARGEST_METADATA),
    ("grpc.absolute_max_metadata_size", _LARGEST_METADATA),
    # After a failure gRPC waits before it connects again. The wait belongs to a pool of sockets: a
    # new channel that has a pool of its own connects at once.
    ("grpc.use_local_subchannel_pool", 1),
)


def options_of(settings: Settings) -> tuple[Option, ...]:
    """Return all channel arguments, those that the user gives by name last and so decisive."""
    wanted: dict[str, int | str] = dict(_BASE)
    if settings.connect_timeout is not None:
        milliseconds = round(settings.connect_timeout * 1000)
        wanted["grpc.min_reconnect_backoff_ms"] = milliseconds  # limits one attempt, too
        wanted["grpc.initial_reconnect_backoff_ms"] = milliseconds
    if settings.keepalive_time is not None:
        wanted["grpc.keepalive_time_ms"] = round(settings.keepalive_time * 1000)
        milliseconds = round(settings.keepalive_timeout * 1000)
        wanted["grpc.keepalive_timeout_ms"] = milliseconds
        wanted["grpc.http2.ping_timeout_ms"] = milliseconds  # newer grpcio uses it, else a minute
    wanted.update(settings.grpc_channel_arguments)
    return tuple(wanted.items())


class UsersInterceptor(grpc.UnaryUnaryClientInterceptor, grpc.StreamStreamClientInterceptor):
    """Add time limit and metadata to the calls of a user's client. Streams have no time limit."""

    def __init__(self, metadata: Callable[[CallHeaders], Any], timeout: float | None) -> None:
        self._metadata = metadata
        self._timeout = timeout

    def intercept_unary_unary(
        self, continuation: Callable[..., Any], call: Any, request: Any
    ) -> Any:
        """Call with the time limit, unless the call has its own, and with the metadata."""
        timeout = self._timeout if call.timeout is None else call.timeout
        metadata = self._metadata(tuple(call.metadata or ()))
        # gRPC takes from the call what is not here
        return continuation(SimpleNamespace(timeout=timeout, metadata=metadata), request)

    def intercept_stream_stream(
        self, continuation: Callable[..., Any], call: Any, requests: Any
    ) -> Any:
        """Open a stream with the metadata."""
        metadata = self._metadata(tuple(call.metadata or ()))
        return continuation(SimpleNamespace(metadata=metadata), requests)


_DNS = re.compile(r"dns:(?:///)?(?=.*:)")  # a host may be called dns, too
_HOST = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[^\[\s?#%,]+")
#: Address lists and sockets, which gRPC reads itself.
_OWN_SCHEMES = ("unix:", "ipv4:", "ipv6:")


def target_of(address: str) -> str:
    """``host:port`` → an unambiguous gRPC target.

    gRPC itself would supply a missing port and reduce a large one modulo 2^16, and so contact
    somebody else (docs/v2-mapping.md §6); such addresses fail here as unresolvable names, like
    v1's. A path is ignored, as v1 did.
    """
    if address.startswith(_OWN_SCHEMES):
        return address
    scheme = _DNS.match(address)
    parts = addresses.parse(address[scheme.end() :] if scheme else address)
    if parts is None or parts.scheme or parts.user is not None:
        raise unresolvable()
    port = int(parts.port) if parts.port and len(parts.port) <= 5 else 0
    if not (0 < port < 2**16 and _HOST.fullmatch(parts.host)):
        raise unresolvable()
    return f"dns:///{quote(parts.host, safe=':')}:{port}"


def unresolvable() -> TransportError:
    """v1's error for a name that cannot be resolved (docs/v1-behaviour.md §3.1)."""
    return transport_error(StatusCode.UNAVAILABLE, NO_SUCH_NAME, TransportKind.LOST)


def unary_method(channel: Any, name: str) -> Any:
    """Return the call object of a unary method of the service on ``channel``."""
    request = getattr(service_pb2, f"{name}Request")
    reply = getattr(service_pb2, f"{name}Response")
    return channel.unary_unary(_SERVICE + name, request.SerializeToString, reply.FromString)

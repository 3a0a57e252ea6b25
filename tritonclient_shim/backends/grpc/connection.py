"""One tritonclient client, and its channel, per endpoint and process
(docs/v1-behaviour.md §9.2).
"""

from __future__ import annotations

import atexit
import copy
import os
import re
from typing import Any, Iterator
from urllib.parse import quote

import grpc
import tritonclient.grpc
from tritonclient.grpc import service_pb2_grpc

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.clients import UnwrappedError, for_users
from tritonclient_shim.backends.grpc import credentials
from tritonclient_shim.backends.grpc.errors import NO_SUCH_NAME, StatusCode, transport_fault
from tritonclient_shim.backends.grpc.interceptors import Dressing
from tritonclient_shim.backends.grpc.options import options_of
from tritonclient_shim.backends.plugins import plugin_of
from tritonclient_shim.core import addresses
from tritonclient_shim.core.errors import TransportFault
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.settings import DEFAULTS, Settings

_SERVICE = "/inference.GRPCInferenceService/"
#: Bytes of a request from which on its memory is worth a thread of gRPC's.
LARGE = 16 * 1024 * 1024
_DNS = re.compile(r"dns:(?:///)?(?=.*:)")  # a host may be called dns, too
_HOST = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[^\[\s?#%,]+")
#: Address lists and sockets, which gRPC reads itself.
_OWN_SCHEMES = ("unix:", "ipv4:", "ipv6:")


class Route:
    """An endpoint and all that settings say about connections to it, with those made so far.

    Equal ones are one object; see :func:`route_to`.
    """

    def __init__(
        self, endpoint: Endpoint, settings: Settings, files: tls.Tls, dressing: Dressing | None
    ) -> None:
        self.endpoint = endpoint
        self.options = list(options_of(settings))
        self.files = files
        self.connect_timeout = settings.connect_timeout
        self.dressing = dressing
        #: By process. Emptied at exit only: v1 kept a channel per url for the life of the
        #: process (docs/v1-behaviour.md §9.2). After a fork the child finds no entry of its own and
        #: leaves its parent's sockets alone.
        self.connections: dict[int, Connection] = {}


_routes: dict[Any, Route] = {}


def route_to(endpoint: Endpoint, settings: Settings = DEFAULTS) -> Route:
    """The route of an endpoint under some settings; SettingsError for unusable files."""
    files = tls.tls_of(settings) if endpoint.secure else tls.DEFAULT
    plugin = plugin_of(settings)
    asked = (settings.network_timeout, settings.grpc_metadata, plugin)
    # plugins need not be hashable, and a route keeps its own alive
    key = (endpoint, options_of(settings), files, settings.connect_timeout, asked[:2], id(plugin))
    found = _routes.get(key)
    if found is None:
        credentials.check(files)
        dressing = None if asked == (None, (), None) else Dressing(*asked)
        found = _routes.setdefault(key, Route(endpoint, settings, files, dressing))
    return found


class Connection:
    """The objects behind all calls to one endpoint. Closed when nothing refers to it.

    ``client`` is the tritonclient client; ``infer`` and ``stream`` take and give serialised
    messages. TransportFault for an impossible address.
    """

    def __init__(self, route: Route) -> None:
        target, options, made = target_of(route.endpoint.address), route.options, None
        if route.endpoint.secure:
            timeout = route.connect_timeout
            made, more = credentials.credentials(target, route.files, timeout)
            options = [*options, *more]
        kind = for_users(tritonclient.grpc.InferenceServerClient)
        self.client: Any = kind(target, ssl=route.endpoint.secure, creds=made, channel_args=options)
        plain = getattr(self.client, "_channel", None)
        self._sealed = plain is None
        self.channel = _own_channel(target, made, options) if plain is None else plain
        if route.dressing is not None:
            self.channel = grpc.intercept_channel(self.channel, route.dressing)
            self._redirect(self.channel)
        self.infer = self.channel.unary_unary(_SERVICE + "ModelInfer")
        self._infer_large = self.channel.stream_unary(_SERVICE + "ModelInfer")
        self.stream = self.channel.stream_stream(_SERVICE + "ModelStreamInfer")

    def _redirect(self, channel: Any) -> None:
        self.client._channel = channel
        self.client._client_stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

    def exchange(self, request: list[bytes]) -> bytes:
        """ModelInfer: the serialised request, alone in its list → the serialised reply.

        gRPC keeps the only message of a call until the reply is there. A large one is taken out
        of the list and sent as a stream of one, the same on the wire, which it lets go.
        """
        large = len(request[0]) >= LARGE
        reply: bytes = self._infer_large(_taken_out(request)) if large else self.infer(request[0])
        return reply

    def method(self, name: str, request: Any, response: Any) -> Any:
        """The call object of a unary method, for protobuf messages of the given classes."""
        serialize, parse = request.SerializeToString, response.FromString
        return self.channel.unary_unary(_SERVICE + name, serialize, parse)

    def lend(self) -> Any:
        """A client for a user, on this connection, with a stream, a plugin and an end of its own.

        It keeps the connection open.
        """
        if self._sealed:
            return self.client
        lent = copy.copy(self.client)
        lent.__class__ = _lendable(type(lent))
        lent._connection, lent._stream, lent._plugin = self, None, None
        return lent


def _taken_out(request: list[bytes]) -> Iterator[bytes]:
    while request:
        yield request.pop()


class _Ended:
    """In the place of a lent client's stub once its user has closed it."""

    def __getattr__(self, name: str) -> Any:
        raise UnwrappedError("this client is closed; unwrap() the context again")


def is_closed(client: Any) -> bool:
    """Has its user closed this lent client?"""
    return isinstance(client._client_stub, _Ended)


def _close_lent(client: Any) -> None:
    """Close the client; the connection is the context's and stays."""
    client.stop_stream()
    client._client_stub = _Ended()


_LENDABLE: dict[Any, Any] = {}


def _lendable(base: Any) -> Any:
    members = {"__doc__": base.__doc__, "close": _close_lent}
    return _LENDABLE.get(base) or _LENDABLE.setdefault(base, type(base.__name__, (base,), members))


def connect(route: Route) -> Connection:
    """The shared connection of this process; TransportFault for an impossible address."""
    process = os.getpid()
    found = route.connections.get(process)
    # setdefault decides between threads that come at once; the loser's never connects
    return found or route.connections.setdefault(process, Connection(route))


@atexit.register
def _release() -> None:
    """Let go while the interpreter is whole; later, tritonclient's clean-up would fail."""
    for route in list(_routes.values()):
        route.connections.pop(os.getpid(), None)


def discard(route: Route, failed: Connection) -> None:
    """Let the next call make a new connection; calls under way keep theirs."""
    process = os.getpid()
    if route.connections.get(process) is failed:
        route.connections.pop(process, None)


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
    """v1's fault for a name that is none (docs/v1-behaviour.md §3.1)."""
    return transport_fault(StatusCode.UNAVAILABLE, NO_SUCH_NAME)


def _own_channel(target: str, made: Any, options: Any) -> Any:
    """For a tritonclient that keeps its channel elsewhere: a second one, same options."""
    if made is not None:
        return grpc.secure_channel(target, made, options=options)
    return grpc.insecure_channel(target, options=options)

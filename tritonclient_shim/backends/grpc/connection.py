"""One tritonclient client and channel per endpoint and process (docs/v1-behaviour.md §9.2)."""

from __future__ import annotations

import asyncio
import atexit
import copy
import os
from dataclasses import replace
from functools import lru_cache
from typing import Any, Callable, Iterator

import grpc
import grpc.aio
import tritonclient.grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.base import CallHeaders, Outcome
from tritonclient_shim.backends.clients import UnwrappedError, user_client_class
from tritonclient_shim.backends.grpc.channel import (
    CallInterceptor,
    channel_credentials,
    check_files,
    interceptor_of,
    open_channel,
    options_of,
    target_of,
)
from tritonclient_shim.backends.grpc.errors import as_backend_error, caused
from tritonclient_shim.backends.grpc.framing import ShmUse, decode_reply
from tritonclient_shim.backends.headers import Plugin, plugin_of
from tritonclient_shim.core import forks
from tritonclient_shim.core.errors import BackendError, TransportError
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.core.reading import outcome_of
from tritonclient_shim.settings import DEFAULTS, Settings, of_connections

_SERVICE = "/inference.GRPCInferenceService/"
#: Requests of this many bytes are sent as a stream: that takes a thread, but frees memory early.
LARGE = 16 * 1024 * 1024
_READY = grpc.ChannelConnectivity.READY.value[0]
_INTERRUPTED = (
    "GRPC client failed: 14: This process was forked while {} gRPC calls of its parent were under "
    "way, after which gRPC may hang or crash; expected calls that end within {:g} seconds; "
    "fork at another time, start the process with multiprocessing's method 'spawn', or use HTTP"
)


class GrpcConnector:
    """How connections to an endpoint are made, and the one that each process has made so.

    Equal ones are one object; see :func:`connector_for`.
    """

    def __init__(
        self, endpoint: Endpoint, settings: Settings, files: tls.Tls, plugin: Plugin | None
    ) -> None:
        self.endpoint = endpoint
        self.options = list(options_of(settings))
        self.files = files
        self.timeout = settings.network_timeout
        self.interceptor = interceptor_of(settings, plugin)
        #: The same for calls that are given their time limit: an interceptor costs each of them.
        self.interceptor_of_inference = interceptor_of(
            replace(settings, network_timeout=None), plugin
        )
        #: By the number of the process, so that a forked child makes a connection of its own and
        #: leaves its parent's sockets alone. Emptied only at the end of the process, as v1 kept a
        #: channel per url until then (docs/v1-behaviour.md §9.2).
        self._connections: dict[int, GrpcConnection] = {}

    def connect(self) -> GrpcConnection:
        """Return the shared connection of this process.

        TransportError for an impossible address, and in a child that was forked during calls.
        """
        if forks.calls.interrupted:
            raise TransportError(_INTERRUPTED.format(forks.calls.interrupted, forks.PATIENCE))
        process = os.getpid()
        connection = self._connections.get(process)
        # setdefault decides between threads that come at once; the loser's never connects
        return connection or self._connections.setdefault(process, GrpcConnection(self))

    def discard(self, failed: GrpcConnection) -> None:
        """Let the next call make a new connection; calls under way keep theirs."""
        process = os.getpid()
        if self._connections.get(process) is failed:
            self._connections.pop(process, None)

    def release(self) -> None:
        """Let this process's connection go."""
        self._connections.pop(os.getpid(), None)


_connectors: dict[Any, GrpcConnector] = {}


def connector_for(endpoint: Endpoint, settings: Settings = DEFAULTS) -> GrpcConnector:
    """Return the connector of an endpoint and its settings; SettingsError for unusable files."""
    relevant = of_connections(settings, endpoint)
    files, plugin = tls.tls_of(relevant), plugin_of(relevant)
    # plugins need not be hashable, and a connector keeps its own alive
    hashable = relevant if plugin is None else replace(relevant, plugin=None)
    key = (endpoint, hashable, files, id(plugin))
    connector = _connectors.get(key)
    if connector is None:
        check_files(files)
        fresh = GrpcConnector(endpoint, relevant, files, plugin)
        connector = _connectors.setdefault(key, fresh)
    return connector


@atexit.register
def _release() -> None:
    """Let connections go while the interpreter is whole; later, tritonclient's clean-up fails."""
    for connector in list(_connectors.values()):
        connector.release()


class GrpcConnection:
    """The objects behind all calls to one endpoint. Closed when nothing refers to it.

    ``client`` is the tritonclient client; ``infer`` and ``stream`` take and give serialised
    messages. TransportError for an impossible address.
    """

    def __init__(self, connector: GrpcConnector) -> None:
        target, secure = target_of(connector.endpoint.address), connector.endpoint.secure
        options = connector.options
        credentials = channel_credentials(connector.files) if secure else None
        kind = user_client_class(tritonclient.grpc.InferenceServerClient)
        self.client: Any = kind(target, ssl=secure, creds=credentials, channel_args=options)
        plain = getattr(self.client, "_channel", None)
        self._channel_is_hidden = plain is None
        self._place = (target, credentials, options)
        self._in_loop: LoopChannel | None = None
        self.channel = open_channel(grpc, self._place) if plain is None else plain
        forks.calls.guard_forks()  # the first channel has registered gRPC's own handlers
        self.server = ServerOfChannel(self.channel)
        with_all = _intercepted(self.channel, connector.interceptor)
        if with_all is not self.channel:
            self.client._channel = with_all
            self.client._client_stub = service_pb2_grpc.GRPCInferenceServiceStub(with_all)
        self._with_all = with_all
        self.channel = _intercepted(self.channel, connector.interceptor_of_inference)
        self._of_inference = (connector.interceptor_of_inference, connector.timeout)
        limit = connector.timeout
        self.infer = _limited(self.channel.unary_unary(_SERVICE + "ModelInfer"), limit)
        self._infer_large = _limited(self.channel.stream_unary(_SERVICE + "ModelInfer"), limit)
        self.stream = self.channel.stream_stream(_SERVICE + "ModelStreamInfer")

    def exchange(self, request: list[bytes]) -> bytes:
        """ModelInfer: the serialised request, alone in its list → the serialised reply.

        gRPC keeps the only message of a call until the reply is there. A large one is taken out
        of the list and sent as a stream of one, the same on the wire, which it lets go.
        """
        large = len(request[0]) >= LARGE
        reply: bytes = self._infer_large(_popped(request)) if large else self.infer(request[0])
        return reply

    def in_loop(self) -> LoopChannel:
        """Return the channel of the running event loop, in place of another loop's."""
        loop, known = asyncio.get_running_loop(), self._in_loop
        if known is None or known.loop is not loop:
            channel = open_channel(grpc.aio, self._place)
            known = self._in_loop = LoopChannel(loop, channel, *self._of_inference)
            self.server.follow(channel)
        return known

    def method(self, name: str) -> Any:
        """Return the call object of a unary method of protobuf messages."""
        return unary_method(self._with_all, name)

    def user_client(self) -> Any:
        """Return a client for a user, on this connection, which it keeps open.

        Its stream, its plugin and its end are its own.
        """
        if self._channel_is_hidden:
            return self.client
        client = copy.copy(self.client)
        client.__class__ = _closable(client.__class__)
        client._connection, client._stream, client._plugin = self, None, None
        return client


def unary_method(channel: Any, name: str) -> Any:
    """Return the call object of a unary method of the service on ``channel``."""
    request = getattr(service_pb2, f"{name}Request")
    reply = getattr(service_pb2, f"{name}Response")
    return channel.unary_unary(_SERVICE + name, request.SerializeToString, reply.FromString)


class _Limited:
    """A unary method whose calls have a time limit, in seconds."""

    def __init__(self, method: Any, timeout: float) -> None:
        self._method = method
        self._timeout = timeout

    def __call__(self, request: Any) -> Any:
        return self._method(request, self._timeout)

    def future(self, request: Any, metadata: Any = None) -> Any:
        """Start the call in the background."""
        return self._method.future(request, self._timeout, metadata)


def _limited(method: Any, timeout: float | None) -> Any:
    return method if timeout is None else _Limited(method, timeout)


def _intercepted(channel: Any, interceptor: Any) -> Any:
    return channel if interceptor is None else grpc.intercept_channel(channel, interceptor)


def _popped(request: list[bytes]) -> Iterator[bytes]:
    while request:
        yield request.pop()


class _ClosedStub:
    """In the place of the stub of a user's client, once the user has closed the client."""

    def __getattr__(self, name: str) -> Any:
        raise UnwrappedError("this client is closed; unwrap() the context again")


def is_closed(client: Any) -> bool:
    """True if the user has closed this client."""
    return isinstance(client._client_stub, _ClosedStub)


def _close(client: Any) -> None:
    """Close the client; the connection is the context's and stays."""
    client.stop_stream()
    client._client_stub = _ClosedStub()


@lru_cache(maxsize=None)
def _closable(base: Any) -> Any:
    """Return a subclass of tritonclient's client whose ``close`` leaves the channel open."""
    return type(base.__name__, (base,), {"__doc__": base.__doc__, "close": _close})


class ServerOfChannel:
    """The server that a channel leads to. Any thread may call.

    A channel connects again by itself, and perhaps to another server. It shows whether it is
    connected, not whether it has been without a connection in between; what is known is not
    believed for long, either (see ``session/models.py``).
    """

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._followed: Any = None
        self._was_ready = False
        self._server = KnownServer()

    def follow(self, channel: Any) -> None:
        """Watch a further channel to the same server, one of ``grpc.aio``."""
        self._followed, self._was_ready = channel, False

    def present(self) -> KnownServer:
        """Return what is known of the server; nothing if the channel has lost its connection."""
        if self._server.is_known and not (
            channel_state(self._channel) in (_READY, None) and self._is_connected()
        ):
            self.lose()
        return self._server

    def _is_connected(self) -> bool:
        """True if the further channel has kept its connection, or never had one."""
        if self._followed is None:
            return True
        ready = self._followed.get_state() is grpc.ChannelConnectivity.READY
        lost, self._was_ready = self._was_ready and not ready, ready
        return not lost

    def lose(self) -> None:
        """Forget the server: a call has shown that the connection is lost."""
        self._server = KnownServer()


def channel_state(channel: Any) -> Any:
    """Return the state of a channel, None where it has none. Raise ValueError if it is closed.

    grpcio's public way to it needs a thread that wakes up five times a second. The method is the
    innermost channel's, around which lie those of interceptors.
    """
    while channel is not None:
        state = getattr(channel, "check_connectivity_state", None)
        if state is not None:
            return state(False)
        channel = getattr(channel, "_channel", None)
    return None


class LoopChannel:
    """A channel of ``grpc.aio``, which belongs to one event loop.

    The interceptor's additions are made here, because ``grpc.aio`` has interceptors of its own.
    """

    def __init__(
        self, loop: Any, channel: Any, interceptor: CallInterceptor | None, timeout: float | None
    ) -> None:
        self.loop = loop
        self._channel = channel  # which would be closed if nothing referred to it
        self._interceptor = interceptor
        self._timeout = timeout
        self._infer = channel.unary_unary(_SERVICE + "ModelInfer")

    async def outcome(
        self,
        request: bytes,
        use: ShmUse,
        headers: CallHeaders,
        on_error: Callable[[BackendError], None],
    ) -> Outcome:
        """ModelInfer of a serialised request."""
        metadata: Any = headers or None
        if self._interceptor is not None:
            metadata = tuple(self._interceptor.metadata_with(headers))
        try:
            reply = await self._infer(request, timeout=self._timeout, metadata=metadata)
        except grpc.RpcError as error:
            backend_error = as_backend_error(error, use.regions)
            on_error(backend_error)
            return caused(backend_error, error)
        return outcome_of(decode_reply, reply, use.outputs)

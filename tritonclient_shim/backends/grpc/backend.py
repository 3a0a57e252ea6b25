"""KServe v2 over gRPC: the connections of a process, and the calls that a session makes on them.

Control calls have tritonclient's messages. Messages of inferences are made in ``framing.py``.
"""

from __future__ import annotations

import asyncio
import os
import sys
import weakref
from functools import partial
from operator import methodcaller
from typing import Any, Awaitable, Callable, Collection, Iterator, TypeVar

import grpc
import tritonclient.grpc
from google.protobuf.json_format import MessageToDict
from tritonclient.grpc import service_pb2, service_pb2_grpc

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.base import (
    CallHeaders,
    Done,
    Outcome,
    StreamEnd,
    StreamingBackend,
    StreamReply,
    current_headers,
)
from tritonclient_shim.backends.clients import with_both_errors
from tritonclient_shim.backends.grpc import forks
from tritonclient_shim.backends.grpc.channel import (
    INFER,
    STREAM,
    UsersInterceptor,
    options_of,
    target_of,
    unary_method,
)
from tritonclient_shim.backends.grpc.errors import (
    CALL_ERRORS,
    StatusCode,
    as_backend_error,
    error_of,
)
from tritonclient_shim.backends.grpc.forks import Call, calls
from tritonclient_shim.backends.grpc.framing import (
    ShmUse,
    decode_reply,
    encode_request,
    no_message,
    shm_use,
)
from tritonclient_shim.backends.grpc.greenlets import (
    eventlet_has_threads,
    prepare_grpc,
    prepare_stream,
)
from tritonclient_shim.backends.grpc.stream import GrpcStream
from tritonclient_shim.backends.names import percent_encoded
from tritonclient_shim.backends.replies import JsonFields
from tritonclient_shim.core.errors import BackendError, ServerError, TransportError, TransportKind
from tritonclient_shim.core.model import Endpoint, InferCall, InferReply, ModelConfigDocument
from tritonclient_shim.core.reading import outcome_of, read
from tritonclient_shim.servers.dialects import dialect_of
from tritonclient_shim.servers.known import KnownServer
from tritonclient_shim.settings import DEFAULTS, Settings, of_connections

T = TypeVar("T")
#: Requests of this many bytes are sent as a stream: that takes a thread, but frees memory early.
LARGE = 16 * 1024 * 1024
_INTERRUPTED = (
    "GRPC client failed: 14: This process was forked while {} gRPC calls of its parent were under "
    "way, after which gRPC may hang or crash; expected calls that end within {:g} seconds; "
    "fork at another time, start the process with multiprocessing's method 'spawn', or use HTTP"
)
_NOT_AWAITED = (
    "GRPC client failed: 14: This process was forked without Python's fork hooks. Its parent had "
    "gRPC calls under way, or had sent asynchronous requests or streams, after which gRPC may hang "
    "or crash; expected a fork with the hooks, or before such requests; under uWSGI set lazy-apps, "
    "or make these requests in the worker alone"
)
#: With one of these a server refuses a command that has no name where it looks for one.
_NAMELESS = ("UNKNOWN", "NOT_FOUND")


class GrpcConnector:
    """How connections to an endpoint are made, and the connection of each process.

    Equal connectors are one object; see :func:`connector_for`.
    """

    def __init__(self, endpoint: Endpoint, settings: Settings, files: tls.Tls) -> None:
        self.endpoint = endpoint
        self.timeout = settings.network_timeout
        self.options = options_of(settings)
        self._files = files
        self.metadata = partial(call_metadata, settings.grpc_metadata)
        plain = (self.timeout, settings.grpc_metadata) == (None, ())
        self.users_interceptors = [] if plain else [UsersInterceptor(self.metadata, self.timeout)]
        #: By the number of the process, so that a forked child makes a connection of its own and
        #: leaves its parent's sockets alone. Kept until the end of the process, as v1 kept a
        #: channel per url (docs/v1-behaviour.md §9.2).
        self._connections: dict[int, GrpcConnection] = {}

    def connect(self) -> GrpcConnection:
        """Return the shared connection of this process.

        TransportError for an impossible address, and in a child that was forked during calls.
        """
        if calls.interrupted:
            reason = _INTERRUPTED if calls.has_waited else _NOT_AWAITED
            raise TransportError(reason.format(calls.interrupted, forks.PATIENCE))
        process = os.getpid()
        connection = self._connections.get(process)
        # setdefault decides between threads that come at once; the loser's never connects
        return connection or self._connections.setdefault(process, GrpcConnection(self))

    def open_channel(self, api: Any) -> Any:
        """Open a channel of ``api``, which is grpc or grpc.aio.

        TransportError for an impossible address.
        """
        target = target_of(self.endpoint.address)
        if not self.endpoint.secure:
            return api.insecure_channel(target, options=self.options)
        pems = (self._files.roots, self._files.key, self._files.certificate)
        credentials = grpc.ssl_channel_credentials(*[pem and pem.content for pem in pems])
        return api.secure_channel(target, credentials, options=self.options)

    def discard(self, failed: GrpcConnection) -> None:
        """Let the next call make a new connection; calls under way keep theirs."""
        process = os.getpid()
        if self._connections.get(process) is failed:
            self._connections.pop(process, None)


def call_metadata(common: CallHeaders, own: CallHeaders) -> Any:
    """Return the metadata of a call, None without any; ``own`` replaces ``common`` by name."""
    if common:
        names = {name for name, _ in own}
        own = (*(pair for pair in common if pair[0] not in names), *own)
    return own or None


_connectors: dict[Any, GrpcConnector] = {}


def connector_for(endpoint: Endpoint, settings: Settings = DEFAULTS) -> GrpcConnector:
    """Return the connector of an endpoint and its settings; SettingsError for unusable files."""
    relevant = of_connections(settings, endpoint)
    files = tls.tls_of(relevant)
    key = (endpoint, relevant, files)
    if key not in _connectors:
        if files != tls.DEFAULT:
            tls.client_context(files)  # gRPC itself would only log an unusable one
        _connectors.setdefault(key, GrpcConnector(endpoint, relevant, files))
    return _connectors[key]


class GrpcConnection:
    """A channel and its methods. The channel is closed when nothing refers to the connection.

    ``infer`` takes and returns serialised messages.
    """

    def __init__(self, connector: GrpcConnector) -> None:
        self._connector = connector
        self._timeout = connector.timeout
        self._metadata = connector.metadata
        prepare_grpc()
        self._channel = connector.open_channel(grpc)
        weakref.finalize(self, self._channel.close).atexit = False
        calls.guard_forks()  # the first channel has registered gRPC's own handlers
        self.server = KnownServer()
        self.infer = self._channel.unary_unary(INFER)
        self._infer_large = self._channel.stream_unary(INFER)
        self._stream = self._channel.stream_stream(STREAM)
        self._loop: tuple[Any, Any] = (None, None)  # an event loop, and its call object

    def call(self, name: str, request: Any, headers: CallHeaders) -> Any:
        """Call a unary method of protobuf messages."""
        method = unary_method(self._channel, name)
        return method(request, self._timeout, self._metadata(headers))

    def exchange(self, request: list[bytes], headers: CallHeaders) -> bytes:
        """Return the serialised reply to a serialised request, which is alone in its list.

        gRPC keeps the only message of a call until the reply is there. A large one is taken out
        of the list and sent as a stream of one, the same on the wire, which it lets go.
        """
        is_large = len(request[0]) >= LARGE and not eventlet_has_threads()
        method = self._infer_large if is_large else self.infer
        message = _popped(request) if is_large else request[0]
        reply: bytes = method(message, self._timeout, self._metadata(headers))
        return reply

    def start(self, request: bytes, headers: CallHeaders) -> Any:
        """Send a serialised request in the background, and return gRPC's future."""
        return self.infer.future(request, self._timeout, self._metadata(headers))

    def stream(self, requests: Iterator[bytes], headers: CallHeaders) -> Any:
        """Open a stream of serialised messages. TransportError where it would hang."""
        prepare_stream()
        return self._stream(requests, metadata=self._metadata(headers))

    async def infer_in_loop(self, request: bytes, headers: CallHeaders) -> Any:
        """Exchange serialised messages in the running event loop, on a channel of this loop."""
        loop = asyncio.get_running_loop()
        if self._loop[0] is not loop:
            self._loop = loop, self._connector.open_channel(grpc.aio).unary_unary(INFER)
        metadata = self._metadata(headers)
        return await self._loop[1](request, timeout=self._timeout, metadata=metadata)

    def users_client(self) -> Any:
        """Return a client for a user, on this connection, which it keeps open.

        Its stream and its end are its own.
        """
        connector = self._connector
        kind = with_both_errors(InferenceServerClient)
        client = kind(connector.endpoint.address, channel_args=connector.options)
        client._channel.close()  # it has never connected
        client._channel = grpc.intercept_channel(self._channel, *connector.users_interceptors)
        client._connection = self  # which closes the channel when nothing refers to it
        client._client_stub = service_pb2_grpc.GRPCInferenceServiceStub(client._channel)
        return client

    def fail(self, error: BackendError) -> None:
        """Forget the server, or the whole connection, if the error of a call demands it.

        Without a connection gRPC waits before it tries again. After a break, silence or a time
        limit gRPC may send the next call on the useless connection (docs/v2-mapping.md §6).
        """
        if isinstance(error, TransportError):
            self.server = KnownServer()
            if error.kind is not TransportKind.OTHER:
                self._connector.discard(self)


class InferenceServerClient(tritonclient.grpc.InferenceServerClient):
    """tritonclient's client on the connection of a context, which stays open."""

    def close(self) -> None:
        """End the client's stream."""
        self.stop_stream()

    def __del__(self) -> None:
        # Late clients have outlived gRPC's threads, for which they would wait for ever.
        if not sys.is_finalizing():
            self.close()


def _popped(request: list[bytes]) -> Iterator[bytes]:
    while request:
        yield request.pop()


def config_document(reply: Any) -> ModelConfigDocument:
    """``ModelConfigResponse`` → document with the wire bytes of ``inference.ModelConfig``."""
    config = reply.config
    content = bytes(config.SerializeToString())
    policy = config.model_transaction_policy
    return ModelConfigDocument(content, config.backend, policy.decoupled)


class GrpcBackend(StreamingBackend):
    """One server over gRPC; see :class:`tritonclient_shim.backends.base.StreamingBackend`.

    ``connect`` returns the connection that calls use now. All backends of a process with the same
    settings share a connection per endpoint, which outlives them.
    """

    def __init__(self, endpoint: Endpoint, connect: Callable[[], GrpcConnection]) -> None:
        self.endpoint = endpoint
        self._connect = connect
        self._user_client: tuple[Any, Any] = (None, None)  # its connection, and the client

    # ------------------------------------------------------------------- server and models

    def _health(self, kind: str) -> bool:
        return bool(getattr(self._message(f"Server{kind.title()}"), kind))

    def known_server(self) -> KnownServer:
        """Return what is known of the server behind the channel."""
        return self._connect().server

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """Return the configuration; ServerError NOT_FOUND for an unknown or unloaded model."""
        return read(config_document, self._message("ModelConfig", name, version=version))

    def _command(self, rpc: str, name: str) -> None:
        """Call ``rpc``; some servers have the name in another field (docs/v2-mapping.md §14)."""
        try:
            self._ask(rpc, model_name=name)
        except ServerError as error:
            if error.code not in _NAMELESS:
                raise
            dialect = dialect_of(self.server_metadata())
            if not dialect.loads_by_repository:
                raise
            try:
                self._ask(rpc, repository_name=name, model_name=name)
            except ServerError as again:
                raise dialect.load_refusal(again, name) from again

    def _ask(self, call: str, name: str = "", **fields: Any) -> JsonFields:
        reply = self._message(call, name, **fields)
        values = read(MessageToDict, reply, True, True)  # with defaults, by the names of HTTP
        if "regions" in values:  # a map by names, which HTTP has as a list
            values["regions"] = [*values["regions"].values()]
        return JsonFields(values)

    def _message(self, call: str, name: str = "", **fields: Any) -> Any:
        if name:
            fields["name"] = percent_encoded(name) if "SharedMemory" in call else name
        request = getattr(service_pb2, f"{call}Request")(**fields)
        reply = self._call(methodcaller("call", call, request, current_headers()), (name,))
        if reply is None:
            raise no_message()
        return reply

    # ------------------------------------------------------------------------- inference

    def infer(self, call: InferCall) -> InferReply:
        """Make one inference, without a deadline (docs/v1-behaviour.md §10.4)."""
        request = [encode_request(call)]
        use = shm_use(call)
        data = self._call(methodcaller("exchange", request, current_headers()), use.regions)
        request.clear()  # perhaps as large as the reply
        return read(decode_reply, data, use.outputs)

    def infer_async(self, call: InferCall, done: Done) -> None:
        """Send now; ``done`` runs on a thread of gRPC's as a rule."""
        entry = calls.enter(asynchronous=True)
        try:
            self._send(call, done, entry)
        except BackendError as unsent:
            calls.leave(entry)
            done(unsent)
        except BaseException:
            calls.leave(entry)
            raise

    def _send(self, call: InferCall, done: Done, entry: Call) -> None:
        body = encode_request(call)
        use = shm_use(call)
        headers = current_headers()

        def begin(connection: GrpcConnection) -> tuple[GrpcConnection, Any]:
            return connection, connection.start(body, headers)

        def finish(future: Any) -> None:
            calls.leave(entry)
            done(outcome_of(_infer_reply_of, connection, future, use))

        connection, future = self._call(begin)
        entry.detach()
        future.add_done_callback(finish)  # runs it here and now when the call has ended

    def infer_in_loop(self, call: InferCall) -> Callable[[], Awaitable[Outcome]]:
        """Encode the request now, on whichever thread, and send it in the event loop."""
        return partial(self._in_loop, encode_request(call), shm_use(call), current_headers())

    async def _in_loop(self, body: bytes, use: ShmUse, headers: CallHeaders) -> Outcome:
        try:
            connection = self._connect()
            reply = await connection.infer_in_loop(body, headers)
        except BackendError as unsent:
            return unsent
        except grpc.RpcError as error:
            backend_error = as_backend_error(error, use.regions)
            connection.fail(backend_error)
            return backend_error
        return outcome_of(decode_reply, reply, use.outputs)

    def open_stream(self, on_reply: StreamReply, on_end: StreamEnd) -> GrpcStream:
        """Open a stream; a server that cannot be reached shows at ``on_end``."""
        headers = current_headers()
        return self._call(
            lambda connection: GrpcStream(
                partial(connection.stream, headers=headers), on_reply, on_end, connection.fail
            )
        )

    # ------------------------------------------------------------------------ connection

    def client(self) -> Any:
        """Return a ``tritonclient.grpc.InferenceServerClient`` on the shared connection."""
        connection = self._connect()
        if self._user_client[0] is not connection:
            self._user_client = connection, connection.users_client()
        return self._user_client[1]

    def close(self) -> None:
        """Refuse further calls; the connection is the process's and stays
        (docs/v1-behaviour.md §9.2).
        """
        self._connect = _refuse

    def _call(self, begin: Callable[[GrpcConnection], T], regions: Collection[str] = ()) -> T:
        """Call ``begin`` with the connection; BackendError for an error of gRPC."""
        entry = calls.enter()
        try:
            connection = self._connect()
            return begin(connection)
        except CALL_ERRORS as error:
            backend_error = as_backend_error(error, regions)
            connection.fail(backend_error)
            raise backend_error from error
        finally:
            calls.leave(entry)


def _infer_reply_of(connection: GrpcConnection, future: Any, use: ShmUse) -> InferReply:
    """Return the reply of a call in the background; raise BackendError if it has failed."""
    if future.code() is StatusCode.OK:
        return decode_reply(future.result(), use.outputs)
    error = error_of(future.code(), future.details(), use.regions)
    connection.fail(error)
    raise error from None if future.cancelled() else future.exception()


def _refuse() -> GrpcConnection:
    raise TransportError("The gRPC backend is closed; open another one.")

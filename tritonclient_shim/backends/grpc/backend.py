"""KServe v2 over gRPC: control calls with tritonclient's messages, inference framed by hand."""

from __future__ import annotations

from functools import partial
from operator import methodcaller
from typing import Any, Awaitable, Callable, Collection, Mapping, Sequence, TypeVar

from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.base import (
    CallHeaders,
    Done,
    Outcome,
    StreamEnd,
    StreamingBackend,
    StreamReply,
)
from tritonclient_shim.backends.grpc.connection import GrpcConnection, GrpcConnector, is_closed
from tritonclient_shim.backends.grpc.errors import (
    CALL_ERRORS,
    StatusCode,
    as_backend_error,
    breaks_channel,
    caused,
    error_of,
    in_users_words,
)
from tritonclient_shim.backends.grpc.framing import (
    ShmUse,
    decode_reply,
    encode_request,
    no_message,
    shm_use,
)
from tritonclient_shim.backends.grpc.stream import GrpcStream
from tritonclient_shim.backends.names import percent_encoded
from tritonclient_shim.core.errors import BackendError, ServerError, TransportError
from tritonclient_shim.core.forks import Call, calls
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import InferCall, InferReply, ModelConfigDocument
from tritonclient_shim.core.reading import outcome_of, read

T = TypeVar("T")
#: Configurations asked for at the same time.
WINDOW = 64
#: With one of these KServe's server refuses a command that has no name where it looks for one.
_NAMELESS = ("UNKNOWN", "NOT_FOUND")


def _configs(names: Sequence[str], connection: GrpcConnection) -> dict[str, ModelConfigDocument]:
    """Ask for configurations at the same time, and leave out those that the server refuses."""
    method = connection.method("ModelConfig")
    futures = [method.future(service_pb2.ModelConfigRequest(name=name)) for name in names]
    documents = {}
    for name, future in zip(names, futures):
        code = future.code()
        if code is StatusCode.OK or not isinstance(error_of(code, future.details()), ServerError):
            documents[name] = read(config_document, _checked(future.result()))
    return documents


class MessageFields:
    """A message of protobuf; see :class:`tritonclient_shim.backends.base.Fields`."""

    def __init__(self, message: Any) -> None:
        self.message = message

    def _member(self, name: str, default: Any = None) -> Any:
        return getattr(self.message, name)

    text = number = version = _member

    def sizes(self, name: str) -> tuple[Any, ...]:
        """Return a repeated member, of numbers or strings."""
        return tuple(getattr(self.message, name))

    texts = sizes

    def part(self, name: str) -> MessageFields:
        """Return a message inside this one."""
        return MessageFields(getattr(self.message, name))

    def parts(self, name: str) -> Sequence[MessageFields]:
        """Return the messages of a repeated member, or of a map."""
        rows = getattr(self.message, name)
        return [*map(MessageFields, rows.values() if hasattr(rows, "values") else rows)]


def config_document(reply: Any) -> ModelConfigDocument:
    """``ModelConfigResponse`` → document with the wire bytes of ``inference.ModelConfig``."""
    config = reply.config
    content, policy = bytes(config.SerializeToString()), config.model_transaction_policy
    return ModelConfigDocument(content, config.backend, policy.decoupled)


def _checked(reply: Any) -> Any:
    if reply is None:
        raise no_message()
    return reply


class GrpcBackend(StreamingBackend):
    """One server over gRPC; see :class:`tritonclient_shim.backends.base.StreamingBackend`.

    All backends of a process with the same settings share one connection per endpoint, which
    outlives them.
    """

    def __init__(self, connector: GrpcConnector) -> None:
        self.endpoint = connector.endpoint
        self._connector = connector
        self._connect = connector.connect
        self._user_client: tuple[GrpcConnection, Any] | None = None

    # ------------------------------------------------------------------- server and models

    def live(self) -> bool:
        """ServerLive."""
        return bool(self._ask("ServerLive").message.live)

    def ready(self) -> bool:
        """ServerReady."""
        return bool(self._ask("ServerReady").message.ready)

    def known_server(self) -> KnownServer:
        """Return what is known of the server behind the channel."""
        return self._connect().server.present()

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """ModelConfig; ServerError NOT_FOUND for an unknown or unloaded model."""
        return read(config_document, self._ask("ModelConfig", name, version=version).message)

    def model_configs(self, names: Sequence[str]) -> Mapping[str, ModelConfigDocument]:
        """ModelConfig of several models, up to :data:`WINDOW` at once, refused ones left out."""
        documents: dict[str, ModelConfigDocument] = {}
        for start in range(0, len(names), WINDOW):
            documents.update(self._call(partial(_configs, names[start : start + WINDOW])))
        return documents

    def _command(self, rpc: str, name: str) -> None:
        """Call ``rpc``; KServe's server has the name in another field (docs/v2-mapping.md §14)."""
        try:
            self._ask(rpc, model_name=name)
        except ServerError as error:
            if error.code not in _NAMELESS or self.server_metadata().name != "kserve":
                raise
            try:
                self._ask(rpc, repository_name=name, model_name=name)
            except ServerError as again:
                if "ModelNotReady" not in again.message:  # KServe fails to put it into words
                    raise
                raise ServerError(f"Model with name {name} is not ready.", "UNAVAILABLE") from again

    # ------------------------------------------------------------------------- inference

    def infer(self, call: InferCall) -> InferReply:
        """ModelInfer, without a deadline (docs/v1-behaviour.md §10.4)."""
        request, use = [encode_request(call)], shm_use(call)
        data = self._call(methodcaller("exchange", request), use.regions)
        request.clear()  # perhaps as large as the reply
        return read(decode_reply, data, use.outputs)

    def infer_async(self, call: InferCall, done: Done) -> None:
        """ModelInfer in the background; ``done`` runs on a thread of gRPC's as a rule."""
        entry = calls.enter()
        try:
            self._send(call, done, entry)
        except BackendError as unsent:
            calls.leave(entry)
            done(unsent)
        except BaseException:
            calls.leave(entry)
            raise

    def _send(self, call: InferCall, done: Done, entry: Call) -> None:
        body, use = encode_request(call), shm_use(call)

        def begin(connection: GrpcConnection) -> tuple[GrpcConnection, Any]:
            headers = {"metadata": call.headers} if call.headers else {}
            return connection, connection.infer.future(body, **headers)

        def finish(future: Any) -> None:
            calls.leave(entry)
            done(outcome_of(self._outcome, connection, future, use))

        connection, future = self._call(begin)
        entry.detach()
        future.add_done_callback(finish)  # runs it here and now when the call has ended

    def infer_in_loop(self, call: InferCall) -> Callable[[], Awaitable[Outcome]]:
        """ModelInfer for an event loop; the request is encoded now, on whichever thread."""
        return partial(self._in_loop, encode_request(call), shm_use(call), call.headers)

    async def _in_loop(self, body: bytes, use: ShmUse, headers: CallHeaders) -> Outcome:
        try:
            connection = self._connect()
        except BackendError as unsent:
            return unsent
        on_error = partial(self._discard_if_broken, connection)
        return await connection.in_loop().outcome(body, use, headers, on_error)

    def _outcome(self, connection: GrpcConnection, future: Any, use: ShmUse) -> Outcome:
        if future.code() is not StatusCode.OK:
            error = error_of(future.code(), future.details())
            self._discard_if_broken(connection, error)
            return caused(in_users_words(error, use.regions), future)
        return decode_reply(future.result(), use.outputs)

    def open_stream(
        self, on_reply: StreamReply, on_end: StreamEnd, headers: CallHeaders = ()
    ) -> GrpcStream:
        """ModelStreamInfer; a server that cannot be reached shows at ``on_end``."""

        def begin(connection: GrpcConnection) -> GrpcStream:
            on_error = partial(self._discard_if_broken, connection)
            return GrpcStream(connection, on_reply, on_end, on_error, headers)

        return self._call(begin)

    # ------------------------------------------------------------------------ connection

    def client(self) -> Any:
        """Return a ``tritonclient.grpc.InferenceServerClient`` on the shared connection.

        Its stream, its plugin and its end are its own.
        """
        connection, client = self._connect(), self._user_client
        if client is None or client[0] is not connection or is_closed(client[1]):
            client = self._user_client = (connection, connection.user_client())
        return client[1]

    def close(self) -> None:
        """Refuse further calls; the connection is the process's and stays
        (docs/v1-behaviour.md §9.2).
        """
        self._connect = _refuse

    def _ask(self, call: str, name: str = "", **fields: Any) -> MessageFields:
        if name:
            fields["name"] = percent_encoded(name) if "SharedMemory" in call else name
        request = getattr(service_pb2, f"{call}Request")(**fields)
        names = (name,) if name else ()
        return MessageFields(
            _checked(self._call(lambda connection: connection.method(call)(request), names))
        )

    def _call(self, begin: Callable[[GrpcConnection], T], regions: Collection[str] = ()) -> T:
        """Use the connection; once more with a new one if a user of ``client()`` closed it."""
        entry = calls.enter()
        try:
            connection = self._connect()
            try:
                return begin(connection)
            except ValueError as error:
                if "Cannot invoke RPC" not in str(error):
                    raise
                self._connector.discard(connection)
                connection = self._connect()
                return begin(connection)
        except CALL_ERRORS as error:
            backend_error = as_backend_error(error, regions)
            self._discard_if_broken(connection, backend_error)
            raise backend_error from error
        finally:
            calls.leave(entry)

    def _discard_if_broken(self, connection: GrpcConnection, error: BackendError) -> None:
        if isinstance(error, TransportError):
            connection.server.lose()
        if breaks_channel(error):
            self._connector.discard(connection)


def _refuse() -> GrpcConnection:
    raise TransportError("The gRPC backend is closed; open another one.")

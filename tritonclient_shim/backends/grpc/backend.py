"""KServe v2 over gRPC: control calls with tritonclient's messages, inference framed by hand."""

from __future__ import annotations

from functools import partial
from typing import Any, Awaitable, Callable, Collection, Iterator, Mapping, Sequence, TypeVar

from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.base import CallHeaders, Done, Outcome, StreamEnd, StreamReply
from tritonclient_shim.backends.grpc import messages
from tritonclient_shim.backends.grpc.connection import GrpcConnection, GrpcConnector, is_closed
from tritonclient_shim.backends.grpc.errors import (
    CALL_ERRORS,
    StatusCode,
    as_fault,
    breaks_channel,
    caused,
    fault_of,
    in_users_words,
)
from tritonclient_shim.backends.grpc.framing import ShmUse, decode_reply, encode_request, shm_use
from tritonclient_shim.backends.grpc.messages import converted, present
from tritonclient_shim.backends.grpc.stream import GrpcStream
from tritonclient_shim.backends.names import percent_encoded
from tritonclient_shim.core.errors import Fault, ServerFault, TransportFault
from tritonclient_shim.core.forks import Call, calls
from tritonclient_shim.core.metadata import KnownServer, ModelMetadata, ServerMetadata
from tritonclient_shim.core.model import (
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)
from tritonclient_shim.core.reading import outcome_of

T = TypeVar("T")
#: Configurations asked for at the same time.
WINDOW = 64
#: With one of these KServe's server refuses a command that has no name where it looks for one.
_NAMELESS = ("UNKNOWN", "NOT_FOUND")


class GrpcBackend:
    """One server over gRPC; see :class:`tritonclient_shim.backends.base.StreamingBackend`.

    All backends of a process with the same settings share one connection per endpoint, which
    outlives them.
    """

    def __init__(self, connector: GrpcConnector) -> None:
        self.endpoint = connector.endpoint
        self._connector = connector
        self._closed = False
        self._user_client: tuple[GrpcConnection, Any] | None = None

    # ------------------------------------------------------------------- server and models

    def live(self) -> bool:
        """ServerLive."""
        return bool(present(self._ask("ServerLive")).live)

    def ready(self) -> bool:
        """ServerReady."""
        return bool(present(self._ask("ServerReady")).ready)

    def server_metadata(self) -> ServerMetadata:
        """ServerMetadata: name (``--id``), version and extensions."""
        return converted(messages.server_metadata, self._ask("ServerMetadata"))

    def known_server(self) -> KnownServer:
        """Return what is known of the server behind the channel."""
        return self._connection().server.present()

    def model_metadata(self, name: str) -> ModelMetadata:
        """ModelMetadata."""
        return converted(messages.model_metadata, self._ask("ModelMetadata", name=name))

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """ModelConfig; ServerFault NOT_FOUND for an unknown or unloaded model."""
        reply = self._ask("ModelConfig", name=name, version=version)
        return converted(messages.config_document, reply)

    def model_configs(self, names: Sequence[str]) -> Mapping[str, ModelConfigDocument]:
        """ModelConfig of several models, up to :data:`WINDOW` at once, refused ones left out."""
        documents: dict[str, ModelConfigDocument] = {}
        for start in range(0, len(names), WINDOW):
            call = calls.enter()
            try:
                documents.update(self._configs(names[start : start + WINDOW]))
            finally:
                calls.leave(call)
        return documents

    def _configs(self, names: Sequence[str]) -> Iterator[tuple[str, ModelConfigDocument]]:
        def begin(connection: GrpcConnection) -> tuple[GrpcConnection, list[Any]]:
            method = connection.method("ModelConfig")
            requests = [service_pb2.ModelConfigRequest(name=name) for name in names]
            return connection, [method.future(request) for request in requests]

        connection, futures = self._call(begin)
        for name, future in zip(names, futures):
            try:
                reply = self._attempt(connection, _result(future))
                yield name, converted(messages.config_document, reply)
            except ServerFault:
                continue

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """ModelStatistics of one model, or of all."""
        reply = self._ask("ModelStatistics", name=name, version=version)
        return converted(messages.model_statistics, reply)

    def repository_index(self) -> tuple[IndexRow, ...]:
        """RepositoryIndex."""
        return converted(messages.index_rows, self._ask("RepositoryIndex"))

    def load(self, name: str) -> None:
        """RepositoryModelLoad; returns when the model is ready or has failed."""
        self._command("RepositoryModelLoad", name)

    def unload(self, name: str) -> None:
        """RepositoryModelUnload; returns at once. Models that an ensemble needed stay loaded."""
        self._command("RepositoryModelUnload", name)

    def _command(self, rpc: str, name: str) -> None:
        """Call ``rpc``; KServe's server has the name in another field (docs/v2-mapping.md §14)."""
        try:
            self._ask(rpc, model_name=name)
        except ServerFault as fault:
            if fault.code not in _NAMELESS or self.server_metadata().name != "kserve":
                raise
            try:
                self._ask(rpc, repository_name=name, model_name=name)
            except ServerFault as again:
                if "ModelNotReady" not in again.message:  # KServe fails to put it into words
                    raise
                raise ServerFault(f"Model with name {name} is not ready.", "UNAVAILABLE") from again

    # ------------------------------------------------------------------------- inference

    def infer(self, call: InferCall) -> InferReply:
        """ModelInfer, without a deadline (docs/v1-behaviour.md §10.4)."""
        request, use = [encode_request(call)], shm_use(call)
        data = self._call(lambda connection: connection.exchange(request), use.regions)
        request.clear()  # perhaps as large as the reply
        return decode_reply(present(data), use.outputs)

    def infer_async(self, call: InferCall, done: Done) -> None:
        """ModelInfer in the background; ``done`` runs on a thread of gRPC's as a rule."""
        entry = calls.enter()
        try:
            self._send(call, done, entry)
        except Fault as unsent:
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
            connection = self._connection()
        except Fault as unsent:
            return unsent
        on_fault = partial(self._discard_if_broken, connection)
        return await connection.in_loop().outcome(body, use, headers, on_fault)

    def _outcome(self, connection: GrpcConnection, future: Any, use: ShmUse) -> Outcome:
        if future.code() is not StatusCode.OK:
            fault = fault_of(future.code(), future.details())
            self._discard_if_broken(connection, fault)
            return caused(in_users_words(fault, use.regions), future)
        return decode_reply(present(future.result()), use.outputs)

    def open_stream(
        self, on_reply: StreamReply, on_end: StreamEnd, headers: CallHeaders = ()
    ) -> GrpcStream:
        """ModelStreamInfer; a server that cannot be reached shows at ``on_end``."""

        def begin(connection: GrpcConnection) -> GrpcStream:
            on_fault = partial(self._discard_if_broken, connection)
            return GrpcStream(connection, on_reply, on_end, on_fault, headers)

        return self._call(begin)

    # --------------------------------------------------------------------- shared memory

    def register_system(self, name: str, key: str, byte_size: int, offset: int = 0) -> None:
        """SystemSharedMemoryRegister; sizes in bytes."""
        place = {"key": key, "offset": offset, "byte_size": byte_size}
        self._ask("SystemSharedMemoryRegister", (name,), name=percent_encoded(name), **place)

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """CudaSharedMemoryRegister of a 64-byte IPC handle."""
        place = {"raw_handle": raw_handle, "device_id": device_id, "byte_size": byte_size}
        self._ask("CudaSharedMemoryRegister", (name,), name=percent_encoded(name), **place)

    def unregister(self, name: str) -> None:
        """Both kinds, as v1 had one name space; the empty name, v2's "all", is none here."""
        if name:
            self._unregister(percent_encoded(name), (name,))

    def unregister_all(self) -> None:
        """Both kinds."""
        self._unregister("")

    def _unregister(self, wire: str, names: Sequence[str] = ()) -> None:
        self._ask("SystemSharedMemoryUnregister", names, name=wire)
        self._ask("CudaSharedMemoryUnregister", names, name=wire)

    def shm_status(self) -> tuple[RegisteredRegion, ...]:
        """SystemSharedMemoryStatus and CudaSharedMemoryStatus."""
        return (
            *converted(messages.system_regions, self._ask("SystemSharedMemoryStatus")),
            *converted(messages.cuda_regions, self._ask("CudaSharedMemoryStatus")),
        )

    # ------------------------------------------------------------------------ connection

    def client(self) -> Any:
        """Return a ``tritonclient.grpc.InferenceServerClient`` on the shared connection.

        Its stream, its plugin and its end are its own.
        """
        connection, found = self._connection(), self._user_client
        if found is None or found[0] is not connection or is_closed(found[1]):
            found = self._user_client = (connection, connection.user_client())
        return found[1]

    def close(self) -> None:
        """Refuse further calls; the connection is the process's and stays
        (docs/v1-behaviour.md §9.2).
        """
        self._closed = True

    def _connection(self) -> GrpcConnection:
        if self._closed:
            raise TransportFault("The gRPC backend is closed; open another one.")
        return self._connector.connect()

    def _ask(self, rpc: str, regions: Collection[str] = (), **fields: Any) -> Any:
        """Call the unary method ``rpc`` with a request of these fields; return its reply.

        A fault names the ``regions`` as their users do.
        """
        request = getattr(service_pb2, f"{rpc}Request")(**fields)
        return self._call(lambda connection: connection.method(rpc)(request), regions)

    def _call(self, begin: Callable[[GrpcConnection], T], regions: Collection[str] = ()) -> T:
        """Use the connection; once more with a new one if a user of ``client()`` closed it."""
        entry = calls.enter()
        try:
            return self._with_connection(begin, regions)
        finally:
            calls.leave(entry)

    def _with_connection(self, begin: Callable[[GrpcConnection], T], regions: Collection[str]) -> T:
        connection = self._connection()
        try:
            return self._attempt(connection, begin, regions)
        except ValueError as error:
            if "Cannot invoke RPC" not in str(error):
                raise
            self._connector.discard(connection)
            return self._attempt(self._connector.connect(), begin, regions)

    def _attempt(
        self,
        connection: GrpcConnection,
        begin: Callable[[GrpcConnection], T],
        regions: Collection[str] = (),
    ) -> T:
        try:
            return begin(connection)
        except CALL_ERRORS as error:
            fault = as_fault(error, regions)
            self._discard_if_broken(connection, fault)
            raise fault from error

    def _discard_if_broken(self, connection: GrpcConnection, fault: Fault) -> None:
        if isinstance(fault, TransportFault):
            connection.server.lose()
        if breaks_channel(fault):
            self._connector.discard(connection)


def _result(future: Any) -> Callable[[GrpcConnection], Any]:
    return lambda _connection: future.result()

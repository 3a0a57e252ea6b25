"""The gRPC backend: control calls through tritonclient, inference framed by hand."""

from __future__ import annotations

import base64
import threading
from typing import Any, Callable, Iterator, Mapping, Sequence, TypeVar

from tritonclient.grpc import service_pb2

from tritonclient_shim.backends import grpc_messages as messages
from tritonclient_shim.backends.base import Done, Outcome, StreamEnd, StreamReply
from tritonclient_shim.backends.grpc_connection import Connection, connect, discard
from tritonclient_shim.backends.grpc_errors import (
    StatusCode,
    as_faults,
    caused,
    fault_of,
    never_connected,
)
from tritonclient_shim.backends.grpc_framing import decode_reply, encode_request, outputs_in_shm
from tritonclient_shim.backends.grpc_stream import GrpcStream
from tritonclient_shim.backends.wire_names import wire_region_name
from tritonclient_shim.errors import Fault, ServerFault
from tritonclient_shim.model import (
    Endpoint,
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
    ServerMetadata,
)

T = TypeVar("T")
#: Configurations asked for at the same time.
WINDOW = 64


class GrpcBackend:
    """One server over gRPC; see :class:`tritonclient_shim.backends.base.StreamingBackend`.

    All backends of a process share one connection per endpoint, which outlives them.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    # ------------------------------------------------------------------- server and models

    def live(self) -> bool:
        """ServerLive."""
        return self._control(lambda client: bool(client.is_server_live()))

    def ready(self) -> bool:
        """ServerReady."""
        return self._control(lambda client: bool(client.is_server_ready()))

    def server_metadata(self) -> ServerMetadata:
        """ServerMetadata: name (``--id``) and version."""
        found = self._control(lambda client: client.get_server_metadata())
        return ServerMetadata(found.name, found.version)

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """ModelConfig; ServerFault NOT_FOUND for an unknown or unloaded model."""
        found = self._control(lambda client: client.get_model_config(name, version))
        return messages.config_document(found)

    def model_configs(self, names: Sequence[str]) -> Mapping[str, ModelConfigDocument]:
        """ModelConfig of several models, up to :data:`WINDOW` at once, refused ones left out."""
        found: dict[str, ModelConfigDocument] = {}
        for start in range(0, len(names), WINDOW):
            found.update(self._configs(names[start : start + WINDOW]))
        return found

    def _configs(self, names: Sequence[str]) -> Iterator[tuple[str, ModelConfigDocument]]:
        request, response = service_pb2.ModelConfigRequest, service_pb2.ModelConfigResponse

        def ask_all(connection: Connection) -> tuple[Connection, list[Any]]:
            ask = connection.method("ModelConfig", request, response)
            return connection, [ask.future(request(name=name)) for name in names]

        connection, futures = self._call(ask_all)
        for name, future in zip(names, futures):
            try:
                yield name, messages.config_document(self._attempt(connection, _result(future)))
            except ServerFault:
                continue

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """ModelStatistics of one model, or of all."""
        found = self._control(lambda client: client.get_inference_statistics(name, version))
        return messages.model_statistics(found)

    def repository_index(self) -> tuple[IndexRow, ...]:
        """RepositoryIndex."""
        found = self._control(lambda client: client.get_model_repository_index())
        return messages.index_rows(found)

    def load(self, name: str) -> None:
        """RepositoryModelLoad; returns when the model is ready or has failed."""
        self._control(lambda client: client.load_model(name))

    def unload(self, name: str) -> None:
        """RepositoryModelUnload; returns at once."""
        self._control(lambda client: client.unload_model(name))

    # ------------------------------------------------------------------------- inference

    def infer(self, call: InferCall) -> InferReply:
        """ModelInfer, without a deadline (v1 §10.4)."""
        body = encode_request(call)
        data = self._call(lambda connection: connection.infer(body))
        return decode_reply(data, outputs_in_shm(call))

    def infer_async(self, call: InferCall, done: Done) -> None:
        """ModelInfer in the background; ``done`` runs on a thread of gRPC.

        What is wrong before anything is sent (2 GiB, an impossible address) is raised, and
        ``done`` is not called.
        """
        body, in_shm = encode_request(call), outputs_in_shm(call)

        def finish(future: Any) -> None:
            done(self._outcome(connection, future, in_shm))

        def begin(current: Connection) -> tuple[Connection, Any]:
            return current, current.infer.future(body)

        connection, future = self._call(begin)
        _when_done(future, finish)

    def _outcome(self, connection: Connection, future: Any, in_shm: frozenset[str]) -> Outcome:
        if future.code() is not StatusCode.OK:
            fault = fault_of(future.code(), future.details())
            self._note(connection, fault)
            return caused(fault, future)
        try:
            return decode_reply(future.result(), in_shm)
        except Fault as undecodable:
            return undecodable

    def open_stream(self, on_reply: StreamReply, on_end: StreamEnd) -> GrpcStream:
        """ModelStreamInfer; a server that cannot be reached shows at ``on_end``."""

        def begin(connection: Connection) -> GrpcStream:
            return GrpcStream(
                connection, on_reply, on_end, lambda fault: self._note(connection, fault)
            )

        return self._call(begin)

    # --------------------------------------------------------------------- shared memory

    def register_system(self, name: str, key: str, byte_size: int, offset: int = 0) -> None:
        """SystemSharedMemoryRegister; sizes in bytes."""
        wire = wire_region_name(name)
        self._control(lambda c: c.register_system_shared_memory(wire, key, byte_size, offset))

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """CudaSharedMemoryRegister of a 64-byte IPC handle."""
        wire, encoded = wire_region_name(name), base64.b64encode(raw_handle)
        self._control(
            lambda c: c.register_cuda_shared_memory(wire, encoded, device_id, byte_size)
        )

    def unregister(self, name: str) -> None:
        """Both kinds, as v1 had one name space; the empty name, v2's "all", is none here."""
        if name:
            self._unregister(wire_region_name(name))

    def unregister_all(self) -> None:
        """Both kinds."""
        self._unregister("")

    def _unregister(self, wire: str) -> None:
        self._control(lambda client: client.unregister_system_shared_memory(wire))
        self._control(lambda client: client.unregister_cuda_shared_memory(wire))

    def shm_status(self) -> tuple[RegisteredRegion, ...]:
        """SystemSharedMemoryStatus and CudaSharedMemoryStatus."""
        system = self._control(lambda client: client.get_system_shared_memory_status())
        cuda = self._control(lambda client: client.get_cuda_shared_memory_status())
        return messages.system_regions(system) + messages.cuda_regions(cuda)

    # ------------------------------------------------------------------------ connection

    def client(self) -> Any:
        """The shared ``tritonclient.grpc.InferenceServerClient``."""
        return connect(self.endpoint).client

    def close(self) -> None:
        """Nothing to give up: the connection is the process's (v1 §9.2)."""

    def _control(self, ask: Callable[[Any], T]) -> T:
        return self._call(lambda connection: ask(connection.client))

    def _call(self, begin: Callable[[Connection], T]) -> T:
        """Use the connection; once more with a new one if a user of ``client()`` closed it."""
        connection = connect(self.endpoint)
        try:
            return self._attempt(connection, begin)
        except ValueError as error:
            if "Cannot invoke RPC" not in str(error):
                raise
            discard(self.endpoint, connection)
            return self._attempt(connect(self.endpoint), begin)

    def _attempt(self, connection: Connection, begin: Callable[[Connection], T]) -> T:
        try:
            with as_faults():
                return begin(connection)
        except Fault as fault:
            self._note(connection, fault)
            raise

    def _note(self, connection: Connection, fault: Fault) -> None:
        if never_connected(fault):
            discard(self.endpoint, connection)


def _result(future: Any) -> Callable[[Connection], Any]:
    return lambda _connection: future.result()


def _when_done(future: Any, finish: Callable[[Any], None]) -> None:
    """Run ``finish(future)`` once, on a thread other than the caller's.

    gRPC runs it at once, on the caller's thread, when the call has already ended.
    """
    caller = threading.get_ident()
    adding = True

    def ended(future: Any) -> None:
        if adding and threading.get_ident() == caller:
            threading.Thread(target=finish, args=(future,), daemon=True).start()
        else:
            finish(future)

    future.add_done_callback(ended)
    adding = False

"""KServe v2 over HTTP: inference framed here, everything else by tritonclient's methods."""

from __future__ import annotations

import weakref
from base64 import b64encode
from typing import Any, Callable, Iterable, Mapping, Sequence

from tritonclient_shim.backends.base import Done
from tritonclient_shim.backends.http import control, framing, json_tensors
from tritonclient_shim.backends.http.client import HttpClient
from tritonclient_shim.backends.http.compression import compressed
from tritonclient_shim.backends.http.errors import CONTENT, PREFIX, refusal
from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.backends.names import path_part, user_message
from tritonclient_shim.core.errors import Fault, ForeignFault, ServerFault, TransportFault
from tritonclient_shim.core.metadata import KnownServer, ModelMetadata, ServerMetadata
from tritonclient_shim.core.model import (
    Buffer,
    Endpoint,
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)
from tritonclient_shim.core.reading import outcome_of, read
from tritonclient_shim.settings import Settings

_HEADER_LENGTH = "Inference-Header-Content-Length"


class HttpBackend:
    """See :class:`tritonclient_shim.backends.base.Backend`."""

    def __init__(self, endpoint: Endpoint, headers: dict[str, str], settings: Settings) -> None:
        self.endpoint = endpoint
        self._http = HttpClient(endpoint, headers, settings)
        self._encoding = settings.http_request_compression
        self._release = weakref.finalize(self, self._http.close)
        self._release.atexit = False
        self._control_client: Any = None
        self._user_client: Any = None

    # ------------------------------------------------------------------------ the server

    def live(self) -> bool:
        """GET /v2/health/live: True iff the answer is 200; any other answer is False
        (docs/v1-behaviour.md §6.1).
        """
        return self._healthy("live")

    def ready(self) -> bool:
        """GET /v2/health/ready: True iff the answer is 200; any other answer is False
        (docs/v1-behaviour.md §6.1).
        """
        return self._healthy("ready")

    def server_metadata(self) -> ServerMetadata:
        """GET /v2."""
        answer = self._ask(lambda client: client.get_server_metadata())
        return read(control.server_metadata, answer)

    def known_server(self) -> KnownServer:
        """What is known of the server behind the pooled connections."""
        return self._http.known_server()

    def model_metadata(self, name: str) -> ModelMetadata:
        """GET /v2/models/<name>."""
        wire = path_part(name)
        answer = self._ask(lambda client: client.get_model_metadata(wire), name)
        return read(control.model_metadata, answer)

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """GET /v2/models/<name>[/versions/<version>]/config."""
        wire, which = path_part(name), path_part(version)
        answer = self._ask(lambda client: client.get_model_config(wire, which), name)
        return read(control.config_document, answer)

    def model_configs(self, names: Sequence[str]) -> Mapping[str, ModelConfigDocument]:
        """The configurations of several models, without those the server refuses."""
        documents = {}
        for name in names:
            try:
                documents[name] = self.model_config(name)
            except ServerFault:
                continue
        return documents

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """GET /v2/models[/<name>[/versions/<version>]]/stats."""
        wire, which = path_part(name), path_part(version)
        answer = self._ask(lambda client: client.get_inference_statistics(wire, which), name)
        return read(control.statistics, answer)

    def repository_index(self) -> tuple[IndexRow, ...]:
        """POST /v2/repository/index; GET /v2/models, KServe's own, where there is none.

        Triton 2.33 never answers this, and this alone, when it has failed to start; it says 400
        when it is asked whether it is live.
        """
        if self._http.send("GET", f"{self._http.prefix}/v2/health/live").status == 400:
            raise ServerFault("Server not ready", "UNAVAILABLE")
        try:
            answer = self._ask(lambda client: client.get_model_repository_index(control.JSON))
        except ForeignFault as fault:
            if not fault.no_such_call:
                raise
            served = self._http.send("GET", f"{self._http.prefix}/v2/models")
            if served.status != 200:
                raise
            return read(control.served_models, served.body)
        return read(control.index_rows, answer)

    def load(self, name: str) -> None:
        """POST /v2/repository/models/<name>/load."""
        wire = path_part(name)
        self._ask(lambda client: client.load_model(wire), name)

    def unload(self, name: str) -> None:
        """POST /v2/repository/models/<name>/unload."""
        wire = path_part(name)
        self._ask(lambda client: client.unload_model(wire), name)

    # ------------------------------------------------------------------------- inference

    def infer(self, call: InferCall) -> InferReply:
        """POST /v2/models/<name>[/versions/<version>]/infer."""
        return _infer_reply(call, self._prepared(call, _pieces(call)))

    def infer_async(self, call: InferCall, done: Done) -> None:
        """The same on a thread of the pool; at most 64 at once per endpoint, the rest wait."""
        try:
            header, *chunks = _pieces(call)
            exchange = self._prepared(call, [header, b"".join(chunks)])  # copied: see Backend
        except Fault as fault:
            return done(fault)
        try:
            self._http.executor.execute(lambda: _finish(call, exchange, done))
        except RuntimeError:  # no thread to be had
            done(TransportFault(f"{PREFIX}Out of memory"))

    def _prepared(self, call: InferCall, body: Sequence[Buffer]) -> Callable[[], Reply]:
        path = self._http.prefix + framing.infer_path(call)
        headers = {_HEADER_LENGTH: str(len(body[0]))} if call.binary else dict(control.JSON)
        if self._encoding != "none":
            headers["Content-Encoding"] = self._encoding
            body = [compressed(self._encoding, body)]
        return self._http.prepare("POST", path, headers, body, call.headers)

    # --------------------------------------------------------------------- shared memory

    def register_system(self, name: str, key: str, byte_size: int, offset: int = 0) -> None:
        """POST /v2/systemsharedmemory/region/<name>/register."""
        wire = path_part(name)
        self._ask(
            lambda client: client.register_system_shared_memory(wire, key, byte_size, offset), name
        )

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """POST /v2/cudasharedmemory/region/<name>/register."""
        wire, text = path_part(name), b64encode(raw_handle).decode()
        self._ask(
            lambda client: client.register_cuda_shared_memory(wire, text, device_id, byte_size),
            name,
        )

    def unregister(self, name: str) -> None:
        """POST /v2/{system,cuda}sharedmemory/region/<name>/unregister; '' is no region."""
        if name:  # without a name the server would forget all of them
            wire = path_part(name)
            self._ask(lambda client: client.unregister_system_shared_memory(wire), name)
            self._ask(lambda client: client.unregister_cuda_shared_memory(wire), name)

    def unregister_all(self) -> None:
        """POST /v2/{system,cuda}sharedmemory/unregister."""
        self._ask(lambda client: client.unregister_system_shared_memory())
        self._ask(lambda client: client.unregister_cuda_shared_memory())

    def shm_status(self) -> tuple[RegisteredRegion, ...]:
        """GET /v2/{system,cuda}sharedmemory/status."""
        system = self._ask(lambda client: client.get_system_shared_memory_status())
        cuda = self._ask(lambda client: client.get_cuda_shared_memory_status())
        return read(control.regions, system, cuda)

    # ---------------------------------------------------------------------------- client

    def client(self) -> Any:
        """A ``tritonclient.http.InferenceServerClient`` on the same connections.

        Unlike tritonclient's own it may be used from any thread; it has this backend's headers.
        """
        stub = getattr(self._user_client, "_client_stub", None)
        if stub is None or stub.closed:
            stub = control.UserStub(self._http)
            self._user_client = control.users_client(self._http, stub)
        return self._user_client

    def close(self) -> None:
        """Give up this backend's share of the connections; idempotent."""
        self._release()

    def _healthy(self, kind: str) -> bool:
        return self._http.send("GET", f"{self._http.prefix}/v2/health/{kind}").status == 200

    def _ask(self, question: Callable[[Any], Any], name: str = "") -> Any:
        """What ``question`` gets from the tritonclient client; Fault when it fails."""
        if self._control_client is None:
            stub = control.ControlStub(self._http)
            self._control_client = control.make_client(self._http.prefix, stub)
        try:
            with CONTENT:
                return question(self._control_client)
        except ServerFault as fault:
            raise _for_user(fault, (name,)) from fault


def _pieces(call: InferCall) -> list[Buffer]:
    return framing.request_pieces(call) if call.binary else [json_tensors.request_body(call)]


def _infer_reply(call: InferCall, exchange: Callable[[], Reply]) -> InferReply:
    """Run a prepared inference, return its result; Fault when there is none."""
    reply = exchange()
    if reply.status != 200:
        raise _for_user(refusal(reply.status, reply.body), _names(call))
    length = reply.headers.get(_HEADER_LENGTH.lower())
    return read(framing.parse_response, reply.body, length)


def _finish(call: InferCall, exchange: Callable[[], Reply], done: Done) -> None:
    """Run a prepared inference and hand its outcome to ``done``, exactly once."""
    done(outcome_of(_infer_reply, call, exchange))


def _names(call: InferCall) -> Iterable[str]:
    """The names in a call that the server knows in quoted form."""
    slices = [one.shm for one in call.inputs] + [one.shm for one in call.outputs]
    return [call.model_name, *(one.region for one in slices if one is not None)]


def _for_user(fault: Fault, names: Iterable[str]) -> Fault:
    """Fault → the same with names as the user gave them."""
    if not isinstance(fault, ServerFault):
        return fault
    return ServerFault(user_message(fault.message, names), fault.code, fault.status)

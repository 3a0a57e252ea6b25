"""KServe v2 over HTTP."""

from __future__ import annotations

import json
import weakref
from base64 import b64encode
from typing import Any, Callable, Iterable, Mapping, Sequence, TypeVar

from tritonclient_shim.backends.base import Done
from tritonclient_shim.backends.http import answers, framing
from tritonclient_shim.backends.http.answers import check_done, json_of
from tritonclient_shim.backends.http.client import HttpClient, compressed
from tritonclient_shim.backends.http.errors import PREFIX, refusal
from tritonclient_shim.backends.http.framing import model_path
from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.backends.http.users_client import users_client
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

T = TypeVar("T")

_HEADER_LENGTH = "Inference-Header-Content-Length"
#: The header of a JSON body, without which some servers take it for text.
JSON = {"Content-Type": "application/json"}
_NO_FIELDS: Mapping[str, Any] = {}
_KINDS = ("system", "cuda")


class HttpBackend:
    """See :class:`tritonclient_shim.backends.base.Backend`."""

    def __init__(self, endpoint: Endpoint, headers: dict[str, str], settings: Settings) -> None:
        self.endpoint = endpoint
        self._http = HttpClient(endpoint, headers, settings)
        self._encoding = settings.http_request_compression
        self._release = weakref.finalize(self, self._http.close)
        self._release.atexit = False
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
        return self._query(answers.server_metadata, "/v2")

    def known_server(self) -> KnownServer:
        """Return what is known of the server behind the pooled connections."""
        return self._http.known_server()

    def model_metadata(self, name: str) -> ModelMetadata:
        """GET /v2/models/<name>."""
        return self._query(answers.model_metadata, f"/v2/models/{path_part(name)}", name)

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """GET /v2/models/<name>[/versions/<version>]/config."""
        return self._query(answers.config_document, f"{model_path(name, version)}/config", name)

    def model_configs(self, names: Sequence[str]) -> Mapping[str, ModelConfigDocument]:
        """Return the configurations of several models, without those that the server refuses."""
        documents = {}
        for name in names:
            try:
                documents[name] = self.model_config(name)
            except ServerFault:
                continue
        return documents

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """GET /v2/models[/<name>[/versions/<version>]]/stats."""
        path = model_path(name, version) if name else "/v2/models"
        return self._query(answers.statistics, f"{path}/stats", name)

    def repository_index(self) -> tuple[IndexRow, ...]:
        """POST /v2/repository/index; GET /v2/models, KServe's own, where there is none.

        Triton 2.33 never answers this, and this alone, when it has failed to start; it says 400
        when it is asked whether it is live.
        """
        if self._http.send("GET", "/v2/health/live").status == 400:
            raise ServerFault("Server not ready", "UNAVAILABLE")
        try:
            return read(answers.index_rows, json_of(self._send("POST", "/v2/repository/index")))
        except ForeignFault as fault:
            if not fault.no_such_call:
                raise
            served = self._http.send("GET", "/v2/models")
            if served.status != 200:
                raise
            return read(answers.served_models, json_of(served.body))

    def load(self, name: str) -> None:
        """POST /v2/repository/models/<name>/load."""
        self._command(f"/v2/repository/models/{path_part(name)}/load", name)

    def unload(self, name: str) -> None:
        """POST /v2/repository/models/<name>/unload; models that an ensemble needed stay loaded."""
        self._command(f"/v2/repository/models/{path_part(name)}/unload", name)

    # ------------------------------------------------------------------------- inference

    def infer(self, call: InferCall) -> InferReply:
        """POST /v2/models/<name>[/versions/<version>]/infer."""
        return _infer_reply(call, self._prepared(call, _pieces(call)))

    def infer_async(self, call: InferCall, done: Done) -> None:
        """Infer on a thread of the pool; at most 64 at once per endpoint, the rest wait."""
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
        headers = {_HEADER_LENGTH: str(len(body[0]))} if call.binary else dict(JSON)
        if self._encoding != "none":
            headers["Content-Encoding"] = self._encoding
            body = [compressed(self._encoding, body)]
        path = f"{model_path(call.model_name, call.model_version)}/infer"
        return self._http.prepare("POST", path, {**headers, **dict(call.headers)}, body)

    # --------------------------------------------------------------------- shared memory

    def register_system(self, name: str, key: str, byte_size: int, offset: int = 0) -> None:
        """POST /v2/systemsharedmemory/region/<name>/register."""
        place = {"key": key, "offset": offset, "byte_size": byte_size}
        self._command(f"{_region_path('system', name)}/register", name, place)

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """POST /v2/cudasharedmemory/region/<name>/register."""
        handle = {"b64": b64encode(raw_handle).decode()}
        place = {"raw_handle": handle, "device_id": device_id, "byte_size": byte_size}
        self._command(f"{_region_path('cuda', name)}/register", name, place)

    def unregister(self, name: str) -> None:
        """POST /v2/{system,cuda}sharedmemory/region/<name>/unregister; '' is no region."""
        if name:  # without a name the server would forget all of them
            for kind in _KINDS:
                self._command(f"{_region_path(kind, name)}/unregister", name)

    def unregister_all(self) -> None:
        """POST /v2/{system,cuda}sharedmemory/unregister."""
        for kind in _KINDS:
            self._command(f"/v2/{kind}sharedmemory/unregister")

    def shm_status(self) -> tuple[RegisteredRegion, ...]:
        """GET /v2/{system,cuda}sharedmemory/status."""
        system, cuda = (json_of(self._send("GET", f"/v2/{k}sharedmemory/status")) for k in _KINDS)
        return read(answers.regions, system, cuda)

    # ---------------------------------------------------------------------------- client

    def client(self) -> Any:
        """Return a ``tritonclient.http.InferenceServerClient`` on the same connections.

        Unlike tritonclient's own it may be used from any thread; it has this backend's headers.
        """
        if self._user_client is None or self._user_client._client_stub.closed:
            self._http.check_address()
            self._user_client = users_client(self._http)
        return self._user_client

    def close(self) -> None:
        """Give up this backend's share of the connections; idempotent."""
        self._release()

    def _healthy(self, kind: str) -> bool:
        return self._http.send("GET", f"/v2/health/{kind}").status == 200

    def _query(self, reader: Callable[[Any], T], path: str, name: str = "") -> T:
        return read(reader, json_of(self._send("GET", path, name)))

    def _command(self, path: str, name: str = "", fields: Mapping[str, Any] = _NO_FIELDS) -> None:
        check_done(self._send("POST", path, name, fields))

    def _send(
        self, method: str, path: str, name: str = "", fields: Mapping[str, Any] = _NO_FIELDS
    ) -> Buffer:
        """Send a control call, return the body of its reply; Fault for a status other than 200.

        A POST has the ``fields`` as its JSON body. A fault has ``name`` as the user wrote it.
        """
        headers, body = (JSON, [json.dumps(fields).encode()]) if method == "POST" else ({}, [])
        reply = self._http.send(method, path, headers, body)
        if reply.status != 200:
            raise _for_user(refusal(reply.status, reply.body), (name,))
        return reply.body


def _region_path(kind: str, name: str) -> str:
    return f"/v2/{kind}sharedmemory/region/{path_part(name)}"


def _pieces(call: InferCall) -> list[Buffer]:
    return framing.request_pieces(call) if call.binary else [framing.json_request(call)]


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
    """Return the names in a call that the server knows in percent-encoded form."""
    slices = [one.shm for one in call.inputs] + [one.shm for one in call.outputs]
    return [call.model_name, *(one.region for one in slices if one is not None)]


def _for_user(fault: Fault, names: Iterable[str]) -> Fault:
    """Fault → the same with names as the user gave them."""
    if not isinstance(fault, ServerFault):
        return fault
    return ServerFault(user_message(fault.message, names), fault.code, fault.status)

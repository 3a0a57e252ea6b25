"""KServe v2 over HTTP."""

from __future__ import annotations

import json
import os
import uuid
import weakref
from base64 import b64encode
from itertools import count
from typing import Any, Callable, Iterable, Sequence

from tritonclient_shim.backends.base import Backend, Done
from tritonclient_shim.backends.http import framing
from tritonclient_shim.backends.http.connections import HttpClient, usable_headers
from tritonclient_shim.backends.http.errors import PREFIX, AnotherReply, refusal
from tritonclient_shim.backends.http.framing import json_of, model_path, v2_object
from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.backends.http.users_client import users_client
from tritonclient_shim.backends.names import path_part
from tritonclient_shim.backends.replies import JsonFields, texts
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    ServerError,
    TransportError,
)
from tritonclient_shim.core.model import (
    Buffer,
    Endpoint,
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
)
from tritonclient_shim.core.reading import outcome_of, read, shown
from tritonclient_shim.servers.known import KnownServer
from tritonclient_shim.settings import Settings

_HEADER_LENGTH = "Inference-Header-Content-Length"
#: The header of a JSON body, without which some servers take it for text.
JSON = {"Content-Type": "application/json"}
_REPOSITORY = "/v2/repository/models/{name}"
_SYSTEM = "/v2/systemsharedmemory"
_CUDA = "/v2/cudasharedmemory"
#: Control call → method, path, and a member of its reply. A command's reply has none.
_CALLS = {
    "ServerMetadata": ("GET", "/v2", "name"),
    "ModelMetadata": ("GET", "{model}", "name"),
    "ModelConfig": ("GET", "{model}/config", "name"),
    "ModelStatistics": ("GET", "{model}/stats", "model_stats"),
    "RepositoryIndex": ("POST", "/v2/repository/index", "models"),
    "RepositoryModelLoad": ("POST", f"{_REPOSITORY}/load", ""),
    "RepositoryModelUnload": ("POST", f"{_REPOSITORY}/unload", ""),
    "SystemSharedMemoryRegister": ("POST", f"{_SYSTEM}/region/{{name}}/register", ""),
    "CudaSharedMemoryRegister": ("POST", f"{_CUDA}/region/{{name}}/register", ""),
    "SystemSharedMemoryUnregister": ("POST", f"{_SYSTEM}{{region}}/unregister", ""),
    "CudaSharedMemoryUnregister": ("POST", f"{_CUDA}{{region}}/unregister", ""),
    "SystemSharedMemoryStatus": ("GET", f"{_SYSTEM}/status", "regions"),
    "CudaSharedMemoryStatus": ("GET", f"{_CUDA}/status", "regions"),
}
_OF_THIS_IMPORT = uuid.uuid4().hex[:8]
_next_number = count(1).__next__
#: Members that stand for a reply which is a list.
_LISTS = ("models", "regions")


class HttpBackend(Backend):
    """See :class:`tritonclient_shim.backends.base.Backend`."""

    def __init__(
        self, endpoint: Endpoint, headers: Sequence[tuple[str, str]], settings: Settings
    ) -> None:
        self.endpoint = endpoint
        sent = usable_headers([*settings.http_headers, *headers])
        self._http = HttpClient(endpoint, sent, settings)
        self._release = weakref.finalize(self, self._http.close)
        self._release.atexit = False
        self._user_client: Any = None

    # ------------------------------------------------------------------------ the server

    def _health(self, kind: str) -> bool:
        # any other status is False (docs/v1-behaviour.md §6.1)
        return self._http.send("GET", f"/v2/health/{kind}").status == 200

    def known_server(self) -> KnownServer:
        """Return what is known of the server behind the pooled connections."""
        return self._http.pool.server

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """GET /v2/models/<name>[/versions/<version>]/config."""
        return read(config_document, self._ask("ModelConfig", name, version=version))

    def repository_index(self) -> tuple[IndexRow, ...]:
        """POST /v2/repository/index; GET /v2/models, KServe's own, where there is none.

        Triton 2.33 never answers this, and this alone, when it has failed to start; it says 400
        when it is asked whether it is live.
        """
        if self._http.send("GET", "/v2/health/live").status == 400:
            raise ServerError("Server not ready", "UNAVAILABLE")
        try:
            return super().repository_index()
        except ForeignError as error:
            if not error.no_such_call:
                raise
            served = self._http.send("GET", "/v2/models")
            if served.status != 200:
                raise
            return read(served_models, json_of(served.body))

    # ------------------------------------------------------------------------- inference

    def infer(self, call: InferCall) -> InferReply:
        """POST /v2/models/<name>[/versions/<version>]/infer."""
        wire_id = _next_wire_id()
        return _infer_reply(call, wire_id, self._http, self._prepared(call, wire_id))

    def infer_async(self, call: InferCall, done: Done) -> None:
        """Infer on a thread of this backend; beyond ``MAX_IN_FLIGHT`` at once the rest wait."""
        try:
            wire_id = _next_wire_id()
            send = self._prepared(call, wire_id, copied=True)
        except BackendError as error:
            return done(error)
        try:
            self._http.executor.execute(
                lambda: done(outcome_of(_infer_reply, call, wire_id, self._http, send))
            )
        except RuntimeError:  # no thread to be had
            done(TransportError(f"{PREFIX}Out of memory"))

    def _prepared(self, call: InferCall, wire_id: str, copied: bool = False) -> Callable[[], Reply]:
        if call.binary:
            body = framing.request_pieces(call, wire_id)
            headers = {_HEADER_LENGTH: str(len(body[0]))}
        else:
            body = [framing.json_request(call, wire_id)]
            headers = JSON
        if copied:
            body = [body[0], b"".join(body[1:])]
        path = f"{model_path(call.model_name, call.model_version)}/infer"
        return self._http.prepare("POST", path, headers, body)

    # ---------------------------------------------------------------------------- client

    def client(self) -> Any:
        """Return a ``tritonclient.http.InferenceServerClient`` on the same connections.

        Unlike tritonclient's own it may be used from any thread; it has this backend's headers.
        """
        if self._user_client is None:
            self._user_client = users_client(self._http)
        return self._user_client

    def close(self) -> None:
        """Give up this backend's share of the connections; idempotent."""
        self._release()

    def _ask(self, call: str, name: str = "", **fields: Any) -> JsonFields:
        method, template, member = _CALLS[call]
        part = path_part(name)
        model = model_path(name, fields.pop("version", ""))
        if "raw_handle" in fields:
            fields["raw_handle"] = {"b64": b64encode(fields["raw_handle"]).decode()}
        region = f"/region/{part}" if name else ""
        path = template.format(name=part, model=model, region=region)
        headers, body = (JSON, [json.dumps(fields).encode()]) if method == "POST" else ({}, [])
        reply = self._http.send(method, path, headers, body)
        if reply.status != 200:
            raise refusal(reply.status, reply.body, (name,))
        if not member:
            check_done(reply.body)
            return JsonFields({})
        answer = json_of(reply.body)
        return v2_rows(answer, member) if member in _LISTS else v2_object(answer, member)


def _next_wire_id() -> str:
    """Return an id that no other request has, of any process or machine behind one proxy."""
    return f"{_OF_THIS_IMPORT}-{os.getpid()}-{_next_number()}"


def _infer_reply(
    call: InferCall, wire_id: str, client: HttpClient, send: Callable[[], Reply]
) -> InferReply:
    """Send a prepared inference, and return its reply. Raise BackendError."""
    response = send()
    if response.status != 200:
        raise refusal(response.status, response.body, _names(call))
    length = response.headers.get(_HEADER_LENGTH.lower())
    try:
        return read(framing.parse_response, response.body, length, wire_id, call.request_id)
    except AnotherReply:
        client.drop_idle_connections()  # what comes next on this one may be wrong, too
        raise


def _names(call: InferCall) -> Iterable[str]:
    """Return the names in a call that the server knows in percent-encoded form."""
    slices = [tensor.shm for tensor in call.inputs] + [output.shm for output in call.outputs]
    return [call.model_name, *(shm.region for shm in slices if shm is not None)]


def check_done(body: Buffer) -> None:
    """Raise ForeignError if the body of a status 200 to a command is not a v2 server's.

    Triton's is empty. Other v2 servers send a JSON object, and so may a proxy that never sends
    nothing. Headers are no evidence: a proxy sets its own.
    """
    answer = json_of(bytes(body).strip() or b"{}")
    if not isinstance(answer, dict) or "error" in answer:
        raise ForeignError(f"not the answer of a v2 server to a command: {shown(answer)}")


def v2_rows(rows: Any, name: str) -> JsonFields:
    """Return the rows, a JSON list of objects, as a member of this name; else raise ForeignError.

    ``{}`` would pass for no rows.
    """
    if type(rows) is not list or not all(type(row) is dict for row in rows):
        raise ForeignError(f"not the answer of a v2 server: {shown(rows)}")
    return JsonFields({name: rows})


def config_document(reply: JsonFields) -> ModelConfigDocument:
    """``GET /v2/models/<m>/config`` → ModelConfigDocument."""
    for tensor in (*reply.parts("input"), *reply.parts("output")):
        tensor.text("name")
    decoupled = reply.part("model_transaction_policy").get("decoupled", bool, False)
    return ModelConfigDocument(reply.value, reply.text("backend", ""), decoupled)


def served_models(answer: Any) -> tuple[IndexRow, ...]:
    """``GET /v2/models``, which lists the names of the models that are ready → their rows."""
    return tuple(
        IndexRow(name, "", "READY") for name in texts(v2_object(answer, "models"), "models")
    )

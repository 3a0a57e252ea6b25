"""tritonclient's HTTP client on top of the pool, and what its control calls answer.

Its methods reach the network through ``_client_stub`` only. With an object of ours in that place
they work from any thread, without gevent's sockets. tritonclient.http is not imported before the
first such client is made.
"""

from __future__ import annotations

import gc
import json
import sys
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

from tritonclient_shim.backends.clients import UnwrappedError, user_client_class
from tritonclient_shim.backends.http.client import HttpClient
from tritonclient_shim.backends.http.deferred import ThreadPool
from tritonclient_shim.backends.http.errors import CONTENT, refusal
from tritonclient_shim.backends.http.json_values import (
    flag,
    list_of,
    number,
    record_of,
    text,
    v2_list,
    v2_object,
    version,
)
from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.backends.names import percent_decoded
from tritonclient_shim.core.errors import ForeignFault, TransportFault, UnreadableFault
from tritonclient_shim.core.metadata import ModelMetadata, ServerMetadata, TensorMetadata
from tritonclient_shim.core.model import (
    BatchStatistics,
    Duration,
    IndexRow,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)
from tritonclient_shim.core.reading import shown

#: The header of a JSON body, without which some servers take it for text.
JSON = {"Content-Type": "application/json"}

_HOOKS = ("get", "post", "close")
#: Ends of the paths of commands, which a v2 server answers with status 200 alone.
_COMMANDS = ("/load", "/unload", "/register", "/unregister")


class StubResponse:
    """An answer in the form tritonclient reads it."""

    def __init__(self, reply: Reply) -> None:
        self.status_code = reply.status
        self._headers = reply.headers
        self._body = reply.body
        self._position = 0

    def get(self, name: str, default: str | None = None) -> str | None:
        """A header by its case-insensitive name."""
        return self._headers.get(name.lower(), default)

    def read(self, length: int = -1) -> bytes:
        """The next ``length`` bytes of the body, -1: all the rest."""
        start = self._position
        self._position = len(self._body) if length < 0 else start + length
        return bytes(memoryview(self._body)[start : self._position])


class _Stub:
    """Stands in for ``_client_stub``: what tritonclient's methods send their requests with."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def get(self, request_uri: str, headers: Mapping[str, str] | None = None) -> StubResponse:
        """GET."""
        return self._send("GET", request_uri, headers or {}, ())

    def post(
        self, request_uri: str, body: Any = b"", headers: Mapping[str, str] | None = None
    ) -> StubResponse:
        """POST."""
        content = body.encode() if isinstance(body, str) else body
        return self._send("POST", request_uri, headers or {}, (content,))

    def close(self) -> None:
        """The connections belong to the pool."""

    def _send(
        self, method: str, uri: str, headers: Mapping[str, str], body: tuple[Any, ...]
    ) -> StubResponse:
        raise NotImplementedError


class ControlStub(_Stub):
    """For the backend's own calls: refusals and foreign answers become faults.

    tritonclient encodes the names in a path, but for '/'. So the backend encodes names before it
    calls tritonclient, and the second encoding is undone here.
    """

    def _send(
        self, method: str, uri: str, headers: Mapping[str, str], body: tuple[Any, ...]
    ) -> StubResponse:
        if body == (b"",) and headers.items() >= JSON.items():
            body = (b"{}",)
        reply = self._http.send(method, uri.replace("%25", "%"), headers, body)
        if reply.status != 200:
            raise refusal(reply.status, reply.body)
        if method == "POST" and uri.endswith(_COMMANDS):
            _check_done(bytes(reply.body))
        return StubResponse(reply)


class UserStub(_Stub):
    """For the client that users get: it behaves as tritonclient's own does.

    Names are encoded by tritonclient alone, refusals are left to it, and transport errors are
    the original exceptions (ConnectionRefusedError and so on).
    """

    closed = False

    def close(self) -> None:
        """No further calls; the connections belong to the pool."""
        self.closed = True

    def _send(
        self, method: str, uri: str, headers: Mapping[str, str], body: tuple[Any, ...]
    ) -> StubResponse:
        if self.closed:
            raise RuntimeError("this client is closed; make a new one")
        try:
            return StubResponse(self._http.send(method, uri, headers, body))
        except TransportFault as fault:
            raise (fault.__cause__ or UnwrappedError(fault.message)) from None
        except ForeignFault as fault:
            raise UnwrappedError(str(fault)) from fault


def _check_done(body: bytes) -> None:
    """Body of an answer 200 to a command: ForeignFault for what no v2 server says.

    Triton's is empty. Other v2 servers send a JSON object, and so may a proxy that never sends
    nothing. Headers are no evidence: a proxy sets its own.
    """
    with CONTENT:
        answer = json.loads(body.strip() or b"{}")
        if not isinstance(answer, dict) or "error" in answer:
            raise ValueError(f"{body[:100]!r} in answer to a command")


def users_client(http: HttpClient, stub: Any) -> Any:
    """The client that users get: any thread may use it, its errors are also v1's."""
    client = make_client(http.prefix, stub)
    client.__class__ = user_client_class(type(client))
    client._pool = ThreadPool(http)
    return client


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection inside: the newest zope.interface for Python 3.8, which gevent
    brings, ends the process when one happens to start while it is being imported."""
    pause = gc.isenabled() and sys.version_info < (3, 9)
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()


def make_client(prefix: str, stub: Any) -> Any:
    """A tritonclient HTTP client whose requests go to ``stub``; RuntimeError without the hook."""
    import tritonclient

    with _no_collection():
        from tritonclient.http import InferenceServerClient

    client = InferenceServerClient(f"localhost{prefix}")  # never contacted: see below
    original: Any = getattr(client, "_client_stub", None)
    if not all(hasattr(original, hook) for hook in _HOOKS):
        version = getattr(tritonclient, "__version__", "installed here")
        raise RuntimeError(
            f"tritonclient {version} does not send through _client_stub.get and .post any more; "
            "tritonclient-shim needs a tritonclient from 2.40 to 2.73 for HTTP"
        )
    original.close()
    client._client_stub = stub
    return client


# ------------------------------------------------------------------- answers, from JSON


def server_metadata(answer: Any) -> ServerMetadata:
    """``GET /v2`` → ServerMetadata."""
    found = v2_object(answer, "name")
    listed = [one for one in list_of(found, "extensions", []) if type(one) is str]
    return ServerMetadata(text(found, "name"), text(found, "version", ""), tuple(listed))


def model_metadata(answer: Any) -> ModelMetadata:
    """``GET /v2/models/<m>`` → ModelMetadata."""
    found = v2_object(answer, "name")
    inputs, outputs = (list_of(found, side, []) for side in ("inputs", "outputs"))
    tensors = tuple(map(_tensor, inputs)), tuple(map(_tensor, outputs))
    return ModelMetadata(text(found, "name"), text(found, "platform", ""), *tensors)


def _tensor(answer: Any) -> TensorMetadata:
    shape = list_of(answer, "shape", [])
    if not all(type(size) is int for size in shape):
        raise UnreadableFault(f"its 'shape' is {shown(shape)}", "a list of integers")
    return TensorMetadata(text(answer, "name"), text(answer, "datatype", ""), tuple(shape))


def config_document(answer: Any) -> ModelConfigDocument:
    """``GET /v2/models/<m>/config`` → ModelConfigDocument; every configuration has a name."""
    found = v2_object(answer, "name")
    for tensor in (*list_of(found, "input", []), *list_of(found, "output", [])):
        text(tensor, "name")
    policy = record_of(found, "model_transaction_policy", {})
    return ModelConfigDocument(found, text(found, "backend", ""), flag(policy, "decoupled", False))


def index_rows(answer: Any) -> tuple[IndexRow, ...]:
    """``POST /v2/repository/index`` → a row per model version."""
    return tuple(map(_index_row, v2_list(answer)))


def served_models(body: Any) -> tuple[IndexRow, ...]:
    """``GET /v2/models``, which lists the names of the models that are ready → their rows."""
    found = v2_object(json.loads(bytes(body)), "models")
    names = list_of(found, "models")
    return tuple(IndexRow(name, "", "READY") for name in names if type(name) is str)


def _index_row(answer: Any) -> IndexRow:
    state, reason = text(answer, "state", ""), text(answer, "reason", "")
    return IndexRow(text(answer, "name"), version(answer, "version"), state, reason)


_BATCH_DURATIONS = ("compute_input", "compute_infer", "compute_output")
_REQUEST_DURATIONS = ("success", "fail", "queue", *_BATCH_DURATIONS)


def statistics(answer: Any) -> tuple[ModelStatistics, ...]:
    """``GET …/stats`` → one record per model version; times in ns."""
    found = v2_object(answer, "model_stats")
    return tuple(map(_model_statistics, v2_list(found["model_stats"])))


def _model_statistics(answer: Any) -> ModelStatistics:
    return ModelStatistics(
        name=text(answer, "name"),
        version=version(answer, "version"),
        last_inference_ms=number(answer, "last_inference", 0),
        inference_count=number(answer, "inference_count", 0),
        execution_count=number(answer, "execution_count", 0),
        batches=tuple(map(_batch_statistics, list_of(answer, "batch_stats", []))),
        **_durations(record_of(answer, "inference_stats", {}), _REQUEST_DURATIONS),
    )


def _batch_statistics(answer: Any) -> BatchStatistics:
    return BatchStatistics(number(answer, "batch_size"), **_durations(answer, _BATCH_DURATIONS))


def _durations(answer: Any, members: tuple[str, ...]) -> dict[str, Duration]:
    found = {member: record_of(answer, member) for member in members if member in answer}
    return {
        member: Duration(number(duration, "count"), number(duration, "ns"))
        for member, duration in found.items()
    }


def regions(system: Any, cuda: Any) -> tuple[RegisteredRegion, ...]:
    """``GET /v2/{system,cuda}sharedmemory/status`` → regions under their users' names."""
    return (*map(_system_region, v2_list(system)), *map(_cuda_region, v2_list(cuda)))


def _system_region(answer: Any) -> RegisteredRegion:
    name, size = percent_decoded(text(answer, "name")), number(answer, "byte_size")
    return RegisteredRegion(name, size, text(answer, "key"), number(answer, "offset", 0))


def _cuda_region(answer: Any) -> RegisteredRegion:
    name, device = percent_decoded(text(answer, "name")), number(answer, "device_id", 0)
    return RegisteredRegion(name, number(answer, "byte_size"), device_id=device, kind="cuda")

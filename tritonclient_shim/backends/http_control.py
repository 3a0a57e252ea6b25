"""tritonclient's HTTP client on top of the pool, and what its control calls answer.

Its methods reach the network through ``_client_stub`` only; with ours in that place they
work from any thread, without gevent's sockets. ``import tritonclient.http`` waits until the
first such client is made.
"""

from __future__ import annotations

import gc
import json
import sys
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

from tritonclient_shim.backends.clients import UnwrappedError, for_users
from tritonclient_shim.backends.http_channel import Channel
from tritonclient_shim.backends.http_deferred import ThreadPool
from tritonclient_shim.backends.http_errors import CONTENT, refusal
from tritonclient_shim.backends.http_response import Reply
from tritonclient_shim.backends.wire_names import user_region_name
from tritonclient_shim.errors import ForeignFault, TransportFault
from tritonclient_shim.model import (
    BatchStatistics,
    Duration,
    IndexRow,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)

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


class ControlStub:
    """``_client_stub`` for the backend's own calls: refusals and foreign answers become faults.

    The backend quotes names before tritonclient does, '/' included, because tritonclient
    leaves that one; the second quoting is undone here.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def get(self, request_uri: str, headers: Mapping[str, str] | None = None) -> StubResponse:
        """GET; Fault unless the answer is 200."""
        return self._checked("GET", request_uri, headers, ())

    def post(
        self, request_uri: str, body: Any = b"", headers: Mapping[str, str] | None = None
    ) -> StubResponse:
        """POST; Fault unless the answer is 200 and, to a command, a v2 server's."""
        response = self._checked("POST", request_uri, headers, (_encoded(body),))
        if request_uri.endswith(_COMMANDS):
            _check_done(response.read())
        return response

    def close(self) -> None:
        """The connections belong to the pool."""

    def _checked(
        self, method: str, uri: str, headers: Mapping[str, str] | None, body: tuple[Any, ...]
    ) -> StubResponse:
        reply = self._channel.send(method, uri.replace("%25", "%"), headers or {}, body)
        if reply.status != 200:
            raise refusal(reply.status, reply.body)
        return StubResponse(reply)


class UserStub:
    """``_client_stub`` of the client that users get: it behaves as tritonclient's own does.

    Names are quoted by tritonclient alone, refusals are left to it, and transport errors are
    the original exceptions (ConnectionRefusedError and so on).
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.closed = False

    def get(self, request_uri: str, headers: Mapping[str, str] | None = None) -> StubResponse:
        """GET; any status."""
        return self._any("GET", request_uri, headers, ())

    def post(
        self, request_uri: str, body: Any = b"", headers: Mapping[str, str] | None = None
    ) -> StubResponse:
        """POST; any status."""
        return self._any("POST", request_uri, headers, (_encoded(body),))

    def close(self) -> None:
        """No further calls; the connections belong to the pool."""
        self.closed = True

    def _any(
        self, method: str, uri: str, headers: Mapping[str, str] | None, body: tuple[Any, ...]
    ) -> StubResponse:
        if self.closed:
            raise RuntimeError("this client is closed; make a new one")
        try:
            return StubResponse(self._channel.send(method, uri, headers or {}, body))
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


def rows(answer: Any) -> list[Any]:
    """What has to be a JSON list; TypeError for all else: ``{}`` would pass for no rows."""
    if not isinstance(answer, list):
        raise TypeError(f"expected a list, got {type(answer).__name__}")
    return answer


def _encoded(body: Any) -> Any:
    return body.encode() if isinstance(body, str) else body


def users_client(channel: Channel, stub: Any) -> Any:
    """The client that users get: any thread may use it, its errors are also v1's."""
    client = make_client(channel.prefix, stub)
    client.__class__ = for_users(type(client))
    client._pool = ThreadPool(channel)
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


def config_document(answer: Mapping[str, Any]) -> ModelConfigDocument:
    """``GET /v2/models/<m>/config`` → ModelConfigDocument; LookupError without its name."""
    answer["name"]  # every configuration has one; ``{}`` is somebody else's answer
    policy = answer.get("model_transaction_policy", {})
    backend, decoupled = answer.get("backend", ""), policy.get("decoupled", False)
    return ModelConfigDocument({**answer}, backend, decoupled)


def index_row(answer: Mapping[str, Any]) -> IndexRow:
    """One element of ``POST /v2/repository/index`` → IndexRow."""
    members = ("version", "state", "reason")
    return IndexRow(answer["name"], *(text(answer.get(member)) for member in members))


def text(value: Any) -> str:
    """A JSON text; null is '', and a version may have come as a number."""
    return "" if value is None else str(value)


_BATCH_DURATIONS = ("compute_input", "compute_infer", "compute_output")
_REQUEST_DURATIONS = ("success", "fail", "queue", *_BATCH_DURATIONS)


def model_statistics(answer: Mapping[str, Any]) -> ModelStatistics:
    """One element of ``model_stats`` of ``GET …/stats`` → ModelStatistics."""
    return ModelStatistics(
        name=answer["name"],
        version=text(answer.get("version")),
        last_inference_ms=_count(answer.get("last_inference")),
        inference_count=_count(answer.get("inference_count")),
        execution_count=_count(answer.get("execution_count")),
        batches=tuple(
            BatchStatistics(_count(one["batch_size"], 32), **_durations(one, _BATCH_DURATIONS))
            for one in answer.get("batch_stats", ())
        ),
        **_durations(answer.get("inference_stats", {}), _REQUEST_DURATIONS),
    )


def _count(value: Any, bits: int = 64) -> int:
    """A JSON count, which may have come as a text; null is 0. ValueError for what is none."""
    number = 0 if value is None else int(value)
    if not 0 <= number < 2**bits:
        raise ValueError(f"{number} is no count of {bits} bits")
    return number


def _durations(answer: Mapping[str, Any], members: tuple[str, ...]) -> dict[str, Duration]:
    return {
        member: Duration(_count(answer[member]["count"]), _count(answer[member]["ns"]))
        for member in members
        if member in answer
    }


def system_region(answer: Mapping[str, Any]) -> RegisteredRegion:
    """One element of ``GET /v2/systemsharedmemory/status`` → RegisteredRegion."""
    name = user_region_name(answer["name"])
    return RegisteredRegion(name, answer["byte_size"], answer["key"], answer.get("offset", 0))


def cuda_region(answer: Mapping[str, Any]) -> RegisteredRegion:
    """One element of ``GET /v2/cudasharedmemory/status`` → RegisteredRegion."""
    name, device = user_region_name(answer["name"]), answer.get("device_id", 0)
    return RegisteredRegion(name, answer["byte_size"], device_id=device, kind="cuda")

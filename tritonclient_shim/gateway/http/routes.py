"""v1's HTTP endpoints: method and path → the function that answers (docs/v1-behaviour.md §9.1).

Each function asks the v2 server, so it runs on a thread. It returns v1's RequestStatus, for the
access log, and the response.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Match, NamedTuple
from urllib.parse import parse_qs

from tritonclient_shim.core.errors import InferenceServerException, Unsendable
from tritonclient_shim.gateway.http.responses import (
    BINARY,
    JSON,
    TEXT,
    message_response,
    response,
)
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import server_status_pb2

GET, POST = "GET", "POST"
INT64, UINT64 = 2**63 - 1, 2**64 - 1  # the largest numbers of v1's messages

#: The pool of threads for a call. Health and loads have their own, because loads take minutes.
HEALTH, CONTROL, LOAD, INFER = "health", "control", "load", "infer"


class HttpCall:
    """One HTTP request, as the functions below need it."""

    def __init__(self, match: Match[str], query: str, accept: str, body: bytes) -> None:
        self.match = match
        self.accept = accept
        self.body = body
        self.format = query_format(query)

    @property
    def kind(self) -> str:
        """The format of the response's body: text, unless the request asks for binary."""
        return BINARY if self.format == BINARY else TEXT


def query_format(query: str) -> str:
    """Return the value of ``format`` in a query string; '' without one."""
    return parse_qs(query, keep_blank_values=True).get("format", [""])[-1] if query else ""


def number(digits: str, largest: int) -> int:
    """Read a number of a path. Raise InferenceServerException if v1's messages cannot hold it."""
    short = digits.lstrip("0")[:30]  # Python refuses to read thousands of digits
    if int(short or "0") <= largest:
        return int(short or "0")
    fault = Unsendable(
        f"the number {digits[:30]}{'…' * (len(digits) > 30)} in the path is too large: expected a "
        f"number of at most {largest}"
    )
    raise InferenceServerException(fault.message) from fault


def _status(upstream: Upstream, call: HttpCall) -> Any:
    request = pb.StatusRequest(model_name=call.match[1] or "")
    reply = upstream.answered(pb.StatusResponse, lambda: upstream.status(request))
    wants_json = call.format == JSON or (not call.format and call.accept == "application/json")
    kind = JSON if wants_json else call.kind
    return reply.request_status, message_response(
        reply.request_status, reply.server_status, kind, upstream.release.camel_case
    )


def _health(upstream: Upstream, call: HttpCall) -> Any:
    """The HTTP status is the result."""
    request = pb.HealthRequest(mode=call.match[1])
    reply = upstream.answered(pb.HealthResponse, lambda: upstream.health(request))
    return reply.request_status, response(reply.request_status, good=reply.health)


def _model_control(upstream: Upstream, call: HttpCall) -> Any:
    kind = pb.ModelControlRequest.Type.Value(call.match[1].upper())
    request = pb.ModelControlRequest(model_name=call.match[2], type=kind)
    reply = upstream.answered(pb.ModelControlResponse, lambda: upstream.model_control(request))
    return reply.request_status, response(reply.request_status)


def _repository(upstream: Upstream, call: HttpCall) -> Any:
    request = pb.RepositoryRequest(index=True)
    reply = upstream.answered(pb.RepositoryResponse, lambda: upstream.control.repository(request))
    return reply.request_status, message_response(reply.request_status, reply.index, call.kind)


def _register(upstream: Upstream, call: HttpCall) -> Any:
    request = pb.SharedMemoryControlRequest()
    request.register.name = call.match[1]
    request.register.byte_size = number(call.match[4], UINT64)
    system = request.register.system_shared_memory
    system.shared_memory_key, system.offset = call.match[2], number(call.match[3], UINT64)
    return _shared_memory(upstream, request)


def _cuda_register(upstream: Upstream, call: HttpCall) -> Any:
    """The body is the handle."""
    request = pb.SharedMemoryControlRequest()
    request.register.name = call.match[1]
    request.register.byte_size = number(call.match[2], UINT64)
    cuda = request.register.cuda_shared_memory
    cuda.raw_handle, cuda.device_id = call.body, number(call.match[3], INT64)
    return _shared_memory(upstream, request)


def _unregister(upstream: Upstream, call: HttpCall) -> Any:
    return _shared_memory(
        upstream, pb.SharedMemoryControlRequest(unregister={"name": call.match[1]})
    )


def _unregister_all(upstream: Upstream, call: HttpCall) -> Any:
    return _shared_memory(upstream, pb.SharedMemoryControlRequest(unregister_all={}))


def _regions(upstream: Upstream, call: HttpCall) -> Any:
    reply = _control(upstream, pb.SharedMemoryControlRequest(status={}))
    regions = reply.shared_memory_status.shared_memory_region
    message = server_status_pb2.SharedMemoryStatus(shared_memory_region=regions)
    return reply.request_status, message_response(reply.request_status, message, call.kind)


def _shared_memory(upstream: Upstream, request: Any) -> Any:
    reply = _control(upstream, request)
    return reply.request_status, response(reply.request_status)


def _control(upstream: Upstream, request: Any) -> Any:
    return upstream.answered(
        pb.SharedMemoryControlResponse, lambda: upstream.control.shared_memory_control(request)
    )


class Route(NamedTuple):
    """One endpoint. ``handler`` is None for inference, which ``infer.py`` answers."""

    rpc: str  # the name of the call over gRPC
    method: str
    pattern: re.Pattern[str]
    pool: str
    handler: Callable[[Upstream, HttpCall], Any] | None = None
    body: int = 0  # the most bytes that its body may have


def _route(rpc: str, method: str, pattern: str, pool: str, *more: Any) -> Route:
    return Route(rpc, method, re.compile(pattern, re.ASCII), pool, *more)


_SHM, _REGIONS = "/api/sharedmemorycontrol", "SharedMemoryControl"
_NAME = "([^/]+)"
_NUMBER = r"(\d+)"

#: Paths are matched without decoding: v1's clients encoded nothing, and its server did not decode.
ROUTES = (
    _route("Infer", POST, rf"/api/infer/{_NAME}(?:/(\d+))?", INFER),
    _route("Status", GET, "/api/status(?:/(.*))?", CONTROL, _status),
    _route("Health", GET, "/api/health/(live|ready)", HEALTH, _health),
    _route("ModelControl", POST, f"/api/modelcontrol/(load|unload)/{_NAME}", LOAD, _model_control),
    _route("Repository", GET, "/api/repository/index", CONTROL, _repository),
    # A key begins with a slash of its own, so the path has two there (docs/v1-behaviour.md §6.5).
    _route(
        _REGIONS,
        POST,
        f"{_SHM}/register/{_NAME}/(/[^/]+)/{_NUMBER}/{_NUMBER}",
        CONTROL,
        _register,
    ),
    _route(
        _REGIONS,
        POST,
        f"{_SHM}/cudaregister/{_NAME}/{_NUMBER}/{_NUMBER}",
        CONTROL,
        _cuda_register,
        64,
    ),
    _route(_REGIONS, POST, f"{_SHM}/unregister/{_NAME}", CONTROL, _unregister),
    _route(_REGIONS, POST, f"{_SHM}/unregisterall", CONTROL, _unregister_all),
    _route(_REGIONS, GET, f"{_SHM}/status", CONTROL, _regions),
)

_AUTHORITY = re.compile("https?://[^/?]*", re.IGNORECASE)

#: Where all calls below a path have one method, v1 checked the method before the rest of the path.
_METHODS = (
    (re.compile("/api/(infer|modelcontrol)(/.*)?"), POST),
    (re.compile("/api/(status|health|repository)(/.*)?"), GET),
)


def origin_form(target: str) -> str:
    """Return a request's target without scheme and host, which clients send to proxies."""
    match = None if target.startswith("/") else _AUTHORITY.match(target)
    return target[match.end() :] if match else target


def route_of(method: str, path: str) -> tuple[Route, Match[str]] | None:
    """Return the endpoint of a request, and the parts of its path."""
    for route in ROUTES:
        match = route.pattern.fullmatch(path)
        if match is not None and route.method == method:
            return route, match
    return None


def wrong_method(method: str, path: str) -> bool:
    """True if this is the path of an endpoint that has another method."""
    if any(pattern.fullmatch(path) and wanted != method for pattern, wanted in _METHODS):
        return True
    return any(route.pattern.fullmatch(path) and route.method != method for route in ROUTES)

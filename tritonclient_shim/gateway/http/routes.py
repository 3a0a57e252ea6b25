"""v1's HTTP endpoints: method and path → call (docs/v1-behaviour.md §9.1)."""

from __future__ import annotations

import re
from typing import Any, Callable, Match, NamedTuple
from urllib.parse import parse_qs

from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.gateway.http.responses import BINARY, JSON, TEXT
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import server_status_pb2

GET = "GET"
POST = "POST"
# The largest numbers of v1's messages:
INT64 = 2**63 - 1
UINT64 = 2**64 - 1


def number(digits: str, largest: int) -> int:
    """Return a number of a path. Raise ServerError if v1's messages cannot hold it."""
    short = digits.lstrip("0")[:30]  # Python refuses to read thousands of digits
    if int(short or "0") <= largest:
        return int(short or "0")
    raise ServerError(
        f"the number {digits[:30]}{'…' * (len(digits) > 30)} in the path is too large: expected a "
        f"number of at most {largest}",
        "INVALID_ARGUMENT",
    )


# ---------------------------------------- the request of a call: parts of the path and the body


def _status(match: Match[str], _: bytes) -> Any:
    return pb.StatusRequest(model_name=match[1] or "")


def _health(match: Match[str], _: bytes) -> Any:
    return pb.HealthRequest(mode=match[1])


def _model_control(match: Match[str], _: bytes) -> Any:
    kind = pb.ModelControlRequest.Type.Value(match[1].upper())
    return pb.ModelControlRequest(model_name=match[2], type=kind)


def _index(_match: Match[str], _: bytes) -> Any:
    return pb.RepositoryRequest(index=True)


def _register(match: Match[str], _: bytes) -> Any:
    request = pb.SharedMemoryControlRequest()
    request.register.name = match[1]
    request.register.byte_size = number(match[4], UINT64)
    system = request.register.system_shared_memory
    system.shared_memory_key = match[2]
    system.offset = number(match[3], UINT64)
    return request


def _cuda_register(match: Match[str], handle: bytes) -> Any:
    request = pb.SharedMemoryControlRequest()
    request.register.name = match[1]
    request.register.byte_size = number(match[2], UINT64)
    cuda = request.register.cuda_shared_memory
    cuda.raw_handle = handle
    cuda.device_id = number(match[3], INT64)
    return request


def _unregister(match: Match[str], _: bytes) -> Any:
    return pb.SharedMemoryControlRequest(unregister={"name": match[1]})


def _unregister_all(_match: Match[str], _: bytes) -> Any:
    return pb.SharedMemoryControlRequest(unregister_all={})


def _regions(_match: Match[str], _: bytes) -> Any:
    return pb.SharedMemoryControlRequest(status={})


def _listed(reply: Any) -> Any:
    regions = reply.shared_memory_status.shared_memory_region
    return server_status_pb2.SharedMemoryStatus(shared_memory_region=regions)


class Route(NamedTuple):
    """One endpoint. ``request`` is None for inference, which ``service.py`` answers."""

    rpc: str  # the name of the call over gRPC
    method: str
    pattern: re.Pattern[str]
    request: Callable[[Match[str], bytes], Any] | None = None
    #: Returns the message in the body of the response; None for an empty body.
    result: Callable[[Any], Any] | None = None
    body: int = 0  # the most bytes that its body may have


def _route(
    rpc: str, method: str, pattern: str, request: Any = None, result: Any = None, body: int = 0
) -> Route:
    return Route(rpc, method, re.compile(pattern, re.ASCII), request, result, body)


_SHM = "/api/sharedmemorycontrol"
_REGIONS = "SharedMemoryControl"
_NAME = "([^/]+)"
_NUMBERS = r"(\d+)/(\d+)"

#: Paths are matched without decoding: v1's clients encoded nothing, and its server did not decode.
ROUTES = (
    _route("Infer", POST, rf"/api/infer/{_NAME}(?:/(\d+))?"),
    _route("Status", GET, "/api/status(?:/(.*))?", _status, lambda reply: reply.server_status),
    _route("Health", GET, "/api/health/(live|ready)", _health),
    _route("ModelControl", POST, f"/api/modelcontrol/(load|unload)/{_NAME}", _model_control),
    _route("Repository", GET, "/api/repository/index", _index, lambda reply: reply.index),
    # A key begins with a slash of its own, so the path has two there (docs/v1-behaviour.md §6.5).
    _route(_REGIONS, POST, f"{_SHM}/register/{_NAME}/(/[^/]+)/{_NUMBERS}", _register),
    # The body is the handle.
    _route(_REGIONS, POST, f"{_SHM}/cudaregister/{_NAME}/{_NUMBERS}", _cuda_register, body=64),
    _route(_REGIONS, POST, f"{_SHM}/unregister/{_NAME}", _unregister),
    _route(_REGIONS, POST, f"{_SHM}/unregisterall", _unregister_all),
    _route(_REGIONS, GET, f"{_SHM}/status", _regions, _listed),
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


def body_format(rpc: str, query: str, accept: str) -> str:
    """Return the format of the response's body: text, unless the request names another."""
    chosen = parse_qs(query, keep_blank_values=True).get("format", [""])[-1] if query else ""
    if rpc == "Status" and (chosen == JSON or (not chosen and accept == "application/json")):
        return JSON
    return BINARY if chosen == BINARY else TEXT

"""v1's HTTP endpoints as a table: method and path → the function that answers
(docs/v1-behaviour.md §9.1).
"""

from __future__ import annotations

import re
from typing import Any, Callable, NamedTuple

from tritonclient_shim.gateway.http import calls

GET, POST = "GET", "POST"

#: The pool of threads for a call. Health and loads have their own, because loads take minutes.
HEALTH, CONTROL, LOAD, INFER = "health", "control", "load", "infer"


class Route(NamedTuple):
    """One endpoint. ``handler`` is None for inference, which ``infer.py`` answers."""

    method: str
    pattern: re.Pattern[str]
    pool: str
    handler: Callable[[Any, Any], Any] | None = None
    body: int = 0  # the most bytes that its body may have
    rpc: str = ""  # the name of the same call over gRPC


def _route(method: str, pattern: str, pool: str, handler: Any = None, body: int = 0) -> Route:
    rpc = next(name for start, name in _RPCS.items() if pattern.startswith(f"/api/{start}"))
    return Route(method, re.compile(pattern, re.ASCII), pool, handler, body, rpc)


_RPCS = {
    "infer": "Infer",
    "status": "Status",
    "health": "Health",
    "modelcontrol": "ModelControl",
    "repository": "Repository",
    "sharedmemorycontrol": "SharedMemoryControl",
}


_SHM = "/api/sharedmemorycontrol"
_NAME = "([^/]+)"
_NUMBER = r"(\d+)"

#: Paths are matched without decoding: v1's clients encoded nothing, and its server did not decode.
ROUTES = (
    _route(POST, rf"/api/infer/{_NAME}(?:/(\d+))?", INFER),
    _route(GET, "/api/status(?:/(.*))?", CONTROL, calls.status),
    _route(GET, "/api/health/(live|ready)", HEALTH, calls.health),
    _route(POST, f"/api/modelcontrol/(load|unload)/{_NAME}", LOAD, calls.model_control),
    _route(GET, "/api/repository/index", CONTROL, calls.repository),
    # A key begins with a slash of its own, so the path has two there (docs/v1-behaviour.md §6.5).
    _route(POST, f"{_SHM}/register/{_NAME}/(/[^/]+)/{_NUMBER}/{_NUMBER}", CONTROL, calls.register),
    _route(
        POST, f"{_SHM}/cudaregister/{_NAME}/{_NUMBER}/{_NUMBER}", CONTROL, calls.cuda_register, 64
    ),
    _route(POST, f"{_SHM}/unregister/{_NAME}", CONTROL, calls.unregister),
    _route(POST, f"{_SHM}/unregisterall", CONTROL, calls.unregister_all),
    _route(GET, f"{_SHM}/status", CONTROL, calls.regions),
)

_AUTHORITY = re.compile("https?://[^/?]*", re.IGNORECASE)

#: Where all calls below a path have one method, v1 checked the method before the rest of the path.
_METHODS = (
    (re.compile("/api/(infer|modelcontrol)(/.*)?"), POST),
    (re.compile("/api/(status|health|repository)(/.*)?"), GET),
)


def origin_form(target: str) -> str:
    """The target of a request without scheme and host, which clients send to what is a proxy."""
    found = None if target.startswith("/") else _AUTHORITY.match(target)
    return target[found.end() :] if found else target


def wrong_method(method: str, path: str) -> bool:
    """Is this the path of an endpoint that has another method?"""
    if any(pattern.fullmatch(path) and wanted != method for pattern, wanted in _METHODS):
        return True
    return any(route.pattern.fullmatch(path) and route.method != method for route in ROUTES)

"""Which path and method is whose: v1's HTTP endpoints as a table (docs/v1-behaviour.md §9.1)."""

from __future__ import annotations

import re
from typing import Any, Callable, NamedTuple

from tritonclient_shim.gateway import http_calls as calls

GET, POST = "GET", "POST"

#: Who runs a call: health must answer while loads take minutes.
HEALTH, CONTROL, INFER = "health", "control", "infer"


class Route(NamedTuple):
    """One endpoint; ``call`` is None for inference, which is answered elsewhere."""

    method: str
    pattern: re.Pattern[str]
    pool: str
    call: Callable[[Any, Any], Any] | None = None
    body: int = 0  # bytes that are read of its body, at most


def _route(method: str, pattern: str, pool: str, call: Any = None, body: int = 0) -> Route:
    return Route(method, re.compile(pattern, re.ASCII), pool, call, body)


_SHM = "/api/sharedmemorycontrol"
_NAME = "([^/]+)"
_NUMBER = r"(\d+)"

#: Paths are matched as they come: v1's clients encode nothing, its server decoded nothing.
ROUTES = (
    _route(POST, rf"/api/infer/{_NAME}(?:/(\d+))?", INFER),
    _route(GET, "/api/status(?:/(.*))?", CONTROL, calls.status),
    _route(GET, "/api/health/(live|ready)", HEALTH, calls.health),
    _route(POST, f"/api/modelcontrol/(load|unload)/{_NAME}", CONTROL, calls.model_control),
    _route(GET, "/api/repository/index", CONTROL, calls.repository),
    # A key has its own slash, so two stand before it (docs/v1-behaviour.md §6.5).
    _route(POST, f"{_SHM}/register/{_NAME}/(/[^/]+)/{_NUMBER}/{_NUMBER}", CONTROL, calls.register),
    _route(
        POST, f"{_SHM}/cudaregister/{_NAME}/{_NUMBER}/{_NUMBER}", CONTROL, calls.cuda_register, 64
    ),
    _route(POST, f"{_SHM}/unregister/{_NAME}", CONTROL, calls.unregister),
    _route(POST, f"{_SHM}/unregisterall", CONTROL, calls.unregister_all),
    _route(GET, f"{_SHM}/status", CONTROL, calls.regions),
)

#: v1 looked at the method before the rest of a path, where an endpoint has one method only.
_METHODS = (
    (re.compile("/api/(infer|modelcontrol)(/.*)?"), POST),
    (re.compile("/api/(status|health|repository)(/.*)?"), GET),
)


def wrong_method(method: str, path: str) -> bool:
    """Is this an endpoint of v1's that takes another method?"""
    if any(pattern.fullmatch(path) and wanted != method for pattern, wanted in _METHODS):
        return True
    return any(route.pattern.fullmatch(path) and route.method != method for route in ROUTES)

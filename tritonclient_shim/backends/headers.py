"""Headers, or metadata, of a thread's calls, beside those of the settings.

A thread's headers are no context variable: a thread that is started meanwhile must not keep the
credentials of a request.
"""

from __future__ import annotations

import threading
from typing import Callable, TypeVar

from tritonclient_shim.backends.base import CallHeaders

T = TypeVar("T")


class _Current(threading.local):
    headers: CallHeaders = ()


_current = _Current()


def current_headers() -> CallHeaders:
    """Return the headers, or metadata, for this thread's calls; names are in lower case."""
    return _current.headers


def call_with(headers: CallHeaders, function: Callable[..., T], *arguments: object) -> T:
    """Call the function; ``headers`` go with each call to a server that it makes."""
    before, _current.headers = _current.headers, headers
    try:
        return function(*arguments)
    finally:
        _current.headers = before

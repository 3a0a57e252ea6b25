"""Headers that go with every call of one thread, beside those of the settings.

They are a thread's own, and not a context variable: a thread that is started meanwhile must not
keep the credentials of a request.
"""

from __future__ import annotations

import threading
from typing import Callable, TypeVar

from tritonclient_shim.backends.base import CallHeaders

T = TypeVar("T")


class _Current(threading.local):
    headers: CallHeaders = ()


_current = _Current()


def current() -> CallHeaders:
    """The headers, or metadata, for the calls of this thread; the names are in lower case."""
    return _current.headers


def call_with(headers: CallHeaders, function: Callable[..., T], *arguments: object) -> T:
    """What the function returns or raises; ``headers`` go with each call that it makes."""
    before, _current.headers = _current.headers, headers
    try:
        return function(*arguments)
    finally:
        _current.headers = before

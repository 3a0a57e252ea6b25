"""Asynchronous requests of the HTTP client that users get, on threads.

tritonclient runs them on gevent's greenlets, which belong to the thread that made the client.
"""

from __future__ import annotations

import threading
from typing import Any, Callable

from tritonclient_shim.backends.http.client import Channel


class Deferred:
    """A request under way, in the form of a greenlet."""

    def __init__(self, act: Callable[..., Any], arguments: Any) -> None:
        self._act, self._arguments = act, arguments
        self._ended = threading.Event()
        self._answer: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """On a thread of the pool."""
        try:
            self._answer = self._act(*self._arguments)
        except BaseException as error:  # whatever it is, get() raises it
            self._error = error
        finally:
            self._ended.set()

    def start(self) -> None:
        """It runs already."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """The answer or its exception; gevent.Timeout when there is none yet."""
        import gevent

        if not self._ended.wait(timeout if block else 0):
            raise gevent.Timeout
        if self._error is not None:
            raise self._error
        return self._answer


class ThreadPool:
    """Stands in for ``_pool`` of tritonclient's client."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._running = 0
        self._changed = threading.Condition()

    def apply_async(self, act: Callable[..., Any], arguments: Any) -> Deferred:
        """Run soon; at most 64 at once per endpoint."""
        deferred = Deferred(act, arguments)
        self._count(1)
        try:
            self._channel.submit(lambda: self._run(deferred))
        except RuntimeError:  # no thread to be had
            self._count(-1)
            raise
        return deferred

    def join(self) -> None:
        """Wait until nothing runs."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0)

    def _run(self, deferred: Deferred) -> None:
        try:
            deferred.run()
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._changed:
            self._running += change
            self._changed.notify_all()

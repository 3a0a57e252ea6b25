"""Asynchronous requests of the HTTP client that users get, on threads.

tritonclient runs them on gevent's greenlets, which belong to the thread that made the client.
"""

from __future__ import annotations

from concurrent.futures import Future, TimeoutError, wait
from typing import Any, Callable

from tritonclient_shim.backends.http.client import HttpClient


class Deferred:
    """A request under way, in the form of a greenlet."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def start(self) -> None:
        """It runs already."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """The answer or its exception; gevent.Timeout when there is none yet."""
        import gevent

        try:
            self._future.exception(timeout if block else 0)
        except TimeoutError:
            raise gevent.Timeout from None
        return self._future.result()


class ThreadPool:
    """Stands in for ``_pool`` of tritonclient's client."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._running: set[Future[Any]] = set()

    def apply_async(self, act: Callable[..., Any], arguments: Any) -> Deferred:
        """Run soon; at most 64 at once per endpoint. RuntimeError when no thread is to be had."""
        future = self._http.executor.submit(act, *arguments)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return Deferred(future)

    def join(self) -> None:
        """Wait until nothing runs."""
        wait(set(self._running))

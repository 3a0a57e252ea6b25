"""Threads that may be left behind: a Triton that never answers must not keep a gateway alive."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Callable, NamedTuple


class _Settling:
    """The result of the block becomes the future's, and so does whatever it raises."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def __enter__(self) -> Future[Any]:
        return self._future

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if error is not None:
            self._future.set_exception(error)
        return True


class _Job(NamedTuple):
    future: Any
    act: Callable[[], Any]

    def run(self) -> None:
        if self.future.set_running_or_notify_cancel():
            with _Settling(self.future) as future:
                future.set_result(self.act())


class DaemonPool(ThreadPoolExecutor):
    """At most ``limit`` daemon threads, started on demand; further jobs wait their turn.

    The executors of the standard library have the interpreter wait for their threads at its end.
    This one is none of them but in name, by which gRPC knows a pool for one rpc.
    """

    def __init__(self, limit: int, name: str) -> None:  # nothing of its base is used
        self._limit = limit
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._started = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(*args, **kwargs)`` on a thread."""
        future: Future[Any] = Future()
        self._jobs.put(_Job(future, lambda: fn(*args, **kwargs)))
        if not self._idle.acquire(blocking=False):
            self._start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let idle threads go, and busy ones when they are done; never waits."""
        with self._lock:
            for _ in range(self._started):
                self._jobs.put(None)

    def _start(self) -> None:
        with self._lock:
            if self._started == self._limit:
                return
            self._started += 1
            name = f"{self._name}-{self._started}"
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        job = self._jobs.get()
        while job is not None:
            job.run()
            job = None  # what it refers to may go while this thread waits
            job = self._next()

    def _next(self) -> _Job | None:
        try:
            return self._jobs.get_nowait()
        except queue.Empty:
            self._idle.release()
            return self._jobs.get()

"""An executor of daemon threads.

A server that never answers must not keep an interpreter from ending. The interpreter waits for the
threads of the standard library's executors.
"""

from __future__ import annotations

import queue
import sys
import threading
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as _NoResult
from contextlib import suppress
from functools import partial
from typing import Any, Callable, TypeVar

from tritonclient_shim.concurrency import forks

Job = Callable[[], object]
_Result = TypeVar("_Result")


def within(seconds: float, function: Callable[[], _Result]) -> _Result:
    """Return the function's result. Raise TimeoutError, and leave its thread, if it is late."""
    future: Future[_Result] = DaemonExecutor(1, "time limit", 0.0).submit(function)
    try:
        return future.result(seconds)
    except _NoResult as late:
        raise TimeoutError(f"it did not end within {seconds:g} seconds") from late


class DaemonExecutor(Executor):
    """An executor of at most ``limit`` daemon threads, started on demand. Further jobs wait.

    A thread that has been idle for ``linger`` seconds ends. A forked child begins without threads
    and jobs: those are its parent's.
    """

    def __init__(self, limit: int, name: str, linger: float = 10.0) -> None:
        self._limit = limit
        self._name = name
        self._linger = linger
        self.after_fork()
        forks.repair(self)

    def after_fork(self) -> None:
        """Begin without threads and jobs, in a forked child too."""
        self._lock = threading.RLock()
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._running = 0
        self._waiting = 0  # threads that wait for a job
        self._pending = 0  # jobs that no thread has begun

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(*args, **kwargs)`` soon; its outcome is the future's. Raises as ``execute``."""
        future: Future[Any] = Future()
        self.execute(partial(fulfil, future, partial(fn, *args, **kwargs)))
        return future

    def execute(self, job: Job) -> None:
        """Run ``job`` soon; an exception of it is shown, as that of any thread is.

        Raises RuntimeError when there is no thread and none can be started.
        """
        forks.notice()
        with self._lock:
            self._pending += 1
            if self._pending > self._waiting and self._running < self._limit:
                self._start()
            self._jobs.put(job)

    def _start(self) -> None:
        self._running += 1
        name = f"{self._name}-{self._running}"
        try:
            threading.Thread(target=self._work, name=name, daemon=True).start()
        except RuntimeError:
            self._running -= 1
            if self._running == 0:  # else a thread that there is will come to the job
                self._pending -= 1
                raise

    def _work(self) -> None:
        job = self._next()
        while job is not None:
            _run(job)
            job = None  # what the job refers to may go while this thread waits
            job = self._next()

    def _next(self) -> Job | None:
        """Return the next job; None when this thread has to end."""
        job = None
        with self._lock:
            self._waiting += 1
        with suppress(queue.Empty):
            job = self._jobs.get(timeout=self._linger)
        with self._lock:
            self._waiting -= 1
            if job is None:
                with suppress(queue.Empty):  # a job may have come meanwhile, for this thread
                    job = self._jobs.get_nowait()
            if job is None:
                self._running -= 1
            else:
                self._pending -= 1
        return job


def _run(job: Job) -> None:
    try:
        job()
    except BaseException:  # whatever it is, other jobs may be waiting for this thread
        args = (*sys.exc_info(), threading.current_thread())
        threading.excepthook(threading.ExceptHookArgs(args))


def fulfil(future: Future[Any], act: Job) -> None:
    """Run a job. Its result, or its exception, is the future's."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = act()
    except BaseException as error:  # whatever it is, the future raises it
        future.set_exception(error)
    else:
        future.set_result(result)

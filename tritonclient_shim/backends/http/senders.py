"""Threads that send asynchronous requests: on demand, at most LIMIT, gone when idle."""

from __future__ import annotations

import threading
from collections import deque
from typing import Callable

LIMIT = 64  # requests in flight per endpoint; more wait their turn
LINGER = 10.0  # seconds an idle thread stays

Job = Callable[[], None]


class Senders:
    """A queue of jobs and the daemon threads that run them, oldest first.

    The threads are daemons so that an unanswered request never keeps an interpreter from
    exiting (the executors of the standard library do).
    """

    def __init__(self, limit: int = LIMIT, linger: float = LINGER) -> None:
        self._limit = limit
        self._linger = linger
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._threads = 0
        self._waiting = 0

    def submit(self, job: Job) -> None:
        """Run ``job`` soon; RuntimeError when no thread can be had to run it."""
        with self._changed:
            self._jobs.append(job)
            if len(self._jobs) <= self._waiting:
                self._changed.notify()
            elif self._threads < self._limit:
                self._start()

    def _start(self) -> None:
        self._threads += 1
        try:
            threading.Thread(target=self._work, name="tritonclient-shim-http", daemon=True).start()
        except RuntimeError:
            self._threads -= 1
            if self._threads == 0:
                self._jobs.pop()
                raise

    def _work(self) -> None:
        job = self._next()
        try:
            while job is not None:
                job()
                job = None  # what the job refers to may go while this thread waits
                job = self._next()
        finally:
            self._end()

    def _next(self) -> Job | None:
        """The next job; None when there was none for a while."""
        with self._changed:
            while not self._jobs:
                self._waiting += 1
                notified = self._changed.wait(self._linger)
                self._waiting -= 1
                if not notified and not self._jobs:
                    return None
            return self._jobs.popleft()

    def _end(self) -> None:
        """This thread ends; another takes over what came too late for it, or after a job raised."""
        with self._changed:
            self._threads -= 1
            if len(self._jobs) > self._waiting and self._threads < self._limit:
                self._start()

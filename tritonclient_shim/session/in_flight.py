"""Asynchronous requests of one context: their ids, their outcomes, their callbacks.

Backends complete requests on threads of their own; user callbacks run on one daemon
thread per context, one after another, in the order of completion (docs/v1-behaviour.md §5). Results
can be fetched once, inside the callback or later, from any thread.
"""

from __future__ import annotations

import itertools
import queue
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Callable, Generic, TypeVar

from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.concurrency import forks
from tritonclient_shim.core.errors import (
    INTERPRETER_ENDS,
    InferenceServerException,
    TransportError,
    shown_cause,
)
from tritonclient_shim.session.exchange import Exchange

#: A user's callback, already bound to its context: called with the request id.
Callback = Callable[[int], object]

_CLOSED = "InferContext is closed"
_UNKNOWN_ID = "The request ID doesn't match any existing asynchronous requests"
_NONE_SENT = "No asynchronous requests have been sent"
_ONLY_CALLBACKS = (
    "No asynchronous requests can be returned, all outstanding requests will signal "
    "completion via their callback function"
)
_SENT_BEFORE_FORK = (
    "request {} was sent before this process was forked, and its answer comes to the parent "
    "process alone: fetch it there, or send the request again here"
)


class CallbackThread:
    """One daemon thread that runs callbacks in order; started when first needed."""

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """Begin without a thread, in a forked child too: threads stay with their process."""
        #: What the started thread runs, in order; None ends it.
        self.jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._ident: int | None = None

    def start(self) -> None:
        """Start the thread if need be; InferenceServerException when none can be had."""
        with self._lock:
            if self._ident is not None:
                return
            thread = threading.Thread(
                target=_run_jobs, args=(self.jobs,), name="tensorrtserver-callback", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise InferenceServerException(
                    f"the callback cannot be called: {error}; expected a thread of its own for it; "
                    "end threads that are not needed, or ask without a callback"
                ) from shown_cause(error)
            self._ident = thread.ident

    def is_current(self) -> bool:
        """True if this call is made by a callback of this context."""
        return threading.get_ident() == self._ident


def _run_jobs(jobs: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while True:
        job = jobs.get()
        if job is None:
            return
        try:
            job()
        except BaseException:
            _print_error()  # docs/v1-behaviour.md §5: it is printed, then forgotten
        del job  # a finished job must not keep its context alive


def _print_error() -> None:
    try:
        sys.stderr.write(traceback.format_exc())
    except BaseException:  # stderr may refuse, or not exist
        return


AnyExchange = TypeVar("AnyExchange", bound=Exchange)


@dataclass(eq=False)
class Entry(Generic[AnyExchange]):
    """An asynchronous inference in the table. Its exchange has no outcome until it is completed."""

    exchange: AnyExchange
    callback: Callback | None
    called: bool = False  # the callback is running, or has run


class InFlight(Generic[AnyExchange]):
    """The table of asynchronous inferences of one context, by client id
    (docs/v1-behaviour.md §4.5).

    Three threads meet here for every inference: the caller's, the backend's and the callbacks'.
    What each does is one operation on the table or one assignment, both atomic; the lock is
    only for those who wait.
    """

    def __init__(self) -> None:
        self._table: dict[int, Entry[AnyExchange]] = {}
        self._reset()
        self._callbacks = CallbackThread()
        self._delivered = 0
        self._closed = False
        forks.repair(self)
        #: The next client id, from 1; streaming contexts use it for run() as well.
        self.next_id = itertools.count(1).__next__

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiters = 0

    def add(self, exchange: AnyExchange, callback: Callback | None) -> None:
        """Enter an inference before it is sent, so that its completion finds it.

        InferenceServerException when there is no thread for its callback, or after :meth:`close`.
        """
        forks.notice()
        if self._closed:
            raise InferenceServerException(_CLOSED)
        if callback is not None:
            self._callbacks.start()
        self._table[exchange.client_id] = Entry(exchange, callback)

    def forget(self, client_id: int) -> None:
        """Take back an inference that could not be sent."""
        self._table.pop(client_id, None)

    def keep_outcome(self, client_id: int, outcome: Outcome) -> None:
        """Keep an outcome, from any thread; the first one of an inference counts.

        A forked child may get one more of its parent's: gRPC ends the calls of a parent there.
        """
        entry = self._table.get(client_id)
        if entry is None or self._closed or entry.exchange.outcome is not None:
            return
        entry.exchange.outcome = outcome
        self._tell()
        if entry.callback is not None:
            self._callbacks.jobs.put(partial(self._deliver, entry, entry.callback))

    def _deliver(self, entry: Entry[AnyExchange], callback: Callback) -> None:
        if self._closed:
            return
        entry.called = True
        try:
            callback(entry.exchange.client_id)
        finally:
            self._delivered += 1  # by the callback thread alone
            self._tell()

    def _tell(self) -> None:
        """Wake whoever waits. A waiter counts itself first and looks afterwards, so that a
        change is seen by it or by this test."""
        if self._waiters:
            with self._lock:
                self._changed.notify_all()

    def _wait_until(self, happened: Callable[[], bool]) -> None:
        if sys.is_finalizing() and not happened():
            raise InferenceServerException(INTERPRETER_ENDS)
        with self._lock:
            self._waiters += 1
            try:
                self._changed.wait_for(lambda: self._closed or happened())
            finally:
                self._waiters -= 1

    def take(self, client_id: int, wait: bool | None) -> AnyExchange | None:
        """Remove an inference and return it with its outcome.

        None if there is none and ``wait`` is False.

        ``wait`` None is the 1.8+ call: it waits for a request without callback, and knows one
        with a callback only from the moment its callback runs (docs/v1-behaviour.md §2.3, §5). True
        and False, the call of 1.4-1.7, do not ask for the callback: they may be used inside another
        one.
        """
        forks.notice()
        entry = self._table.get(client_id)
        if self._closed:
            raise InferenceServerException(_CLOSED)
        if entry is None or (wait is None and entry.callback and not entry.called):
            raise InferenceServerException(_UNKNOWN_ID)
        if entry.exchange.outcome is None:
            if wait is False:
                return None
            self._wait_until(lambda: entry.exchange.outcome is not None)
        if self._closed:
            raise InferenceServerException(_CLOSED)
        if self._table.pop(client_id, None) is None:  # another thread fetched or closed meanwhile
            raise InferenceServerException(_CLOSED if self._closed else _UNKNOWN_ID)
        return entry.exchange

    def ready(self, wait: bool) -> int | None:
        """Return the lowest id of a completed request without callback; it stays in the table
        (docs/v1-behaviour.md §2.2).
        """
        forks.notice()
        if wait and self._plain() and not self._done():
            self._wait_until(lambda: bool(self._done()) or not self._plain())
            if self._closed:
                raise InferenceServerException(_CLOSED)
        if self._closed:
            raise InferenceServerException(_CLOSED)
        if not self._table:
            raise InferenceServerException(_NONE_SENT)
        if not self._plain():
            raise InferenceServerException(_ONLY_CALLBACKS)
        return min(self._done(), default=None)

    def _plain(self) -> dict[int, Entry[AnyExchange]]:
        """Return the inferences without callback."""
        return {i: entry for i, entry in list(self._table.items()) if not entry.callback}

    def _done(self) -> list[int]:
        return [i for i, entry in self._plain().items() if entry.exchange.outcome is not None]

    def close(self, wait_for_next: bool = False) -> None:
        """Drop every inference; no callback is started afterwards.

        ``wait_for_next`` first waits for the next completion, and its callback, if any
        request with a callback is outstanding: v1's close over gRPC (docs/v1-behaviour.md §5).
        """
        forks.notice()
        try:
            if wait_for_next and not self._callbacks.is_current():
                seen = self._delivered
                with suppress(InferenceServerException):  # when the interpreter ends
                    self._wait_until(lambda: self._delivered > seen or not self._expected())
        finally:  # a signal's handler may end the wait
            self._closed = True
            self._table.clear()
            self._tell()
            self._callbacks.jobs.put(None)

    def _expected(self) -> bool:
        """True if any callback is still to be called."""
        return any(entry.callback and not entry.called for entry in list(self._table.values()))

    def after_fork(self) -> None:
        """Refuse, in a forked child, what has no answer: answers come to the parent."""
        self._reset()  # a thread of the parent may have held the lock
        self._callbacks.after_fork()
        for client_id, entry in self._table.items():
            if entry.exchange.outcome is None:
                error = TransportError(_SENT_BEFORE_FORK.format(client_id))
                entry.exchange.refuse(error)
            entry.called = True

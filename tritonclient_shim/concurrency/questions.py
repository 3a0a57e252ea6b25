"""Questions to a server that may never answer: asked once at a time, most for a limited time.

Most follow a refusal or a result that has arrived already; none is needed to go on. A server that
hangs must not keep the caller, and repeated calls must not pile up threads and connections.
"""

from __future__ import annotations

import sys
from concurrent.futures import Future
from concurrent.futures import TimeoutError as _NoResult
from functools import partial
from time import monotonic
from typing import Any, Callable, Hashable, TypeVar

from tritonclient_shim.concurrency import forks
from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor, fulfil

_Answer = TypeVar("_Answer")

#: Seconds that a refusal waits for the answer to a question about it.
ANSWERED_WITHIN = 5.0


class _Question:
    """A question under way."""

    def __init__(self) -> None:
        self.answer: Future[Any] = Future()
        self.asked_at = monotonic()


class Questions:
    """The questions under way, by subject. Any thread may ask.

    Each question has a thread. A caller with a subject that is under way waits for its answer, and
    at once gives up if the time limit of the question has passed.
    """

    def __init__(self) -> None:
        self.after_fork()
        forks.repair(self)

    def after_fork(self) -> None:
        """Begin without questions, in a forked child too: their threads are the parent's."""
        self._under_way: dict[Hashable, _Question] = {}

    def ask(self, subject: Hashable, ask: Callable[[], _Answer], limited: bool = True) -> _Answer:
        """Return the result of ``ask``, or raise its exception.

        Raise TimeoutError if the question is ``limited`` and began more than
        :data:`ANSWERED_WITHIN` seconds ago. Raise RuntimeError if there is no thread for it.
        """
        if sys.is_finalizing():
            raise RuntimeError("no thread runs any more")
        forks.notice()
        ours = _Question()
        question = self._under_way.setdefault(subject, ours)
        if question is ours:
            self._begin(subject, question, ask)
        seconds = None
        if limited:
            seconds = max(0.0, question.asked_at + ANSWERED_WITHIN - monotonic())
        try:
            answer: _Answer = question.answer.result(seconds)
        except _NoResult as late:
            if question.answer.done():  # the exception is the answer
                raise
            raise TimeoutError(f"no answer within {ANSWERED_WITHIN:g} seconds") from late
        return answer

    def _begin(self, subject: Hashable, question: _Question, ask: Callable[[], Any]) -> None:
        """Start the thread of a question. Raise RuntimeError if there is none."""

        def asked() -> Any:
            try:
                return ask()
            finally:
                self._under_way.pop(subject, None)

        has_thread = False
        try:
            DaemonExecutor(1, "question", 0.0).execute(partial(fulfil, question.answer, asked))
            has_thread = True
        finally:  # a signal's handler may raise too
            if not has_thread:
                self._under_way.pop(subject, None)
                question.answer.set_exception(RuntimeError("there is no thread for the question"))

"""What this process must mend after it was forked: the objects that asked to be told, and locks."""

from __future__ import annotations

import os
import threading
from typing import Any, Callable, Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """An object with state that does not survive a fork, such as threads, locks and streams."""

    def after_fork(self) -> None:
        """Called in the forked child, before anything else of ours runs there."""


_told: WeakSet[ForkAware] = WeakSet()


def tell(one: ForkAware) -> None:
    """Call ``one.after_fork()`` in every child that is forked from now on, while it lives."""
    _told.add(one)


def _after_fork() -> None:
    for one in list(_told):
        one.after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_after_fork)


class Lock:
    """A lock for ``with`` that is free in a forked child, whichever thread of the parent held it.

    ``make`` makes the lock itself: ``threading.RLock`` for one that its owner may take again.
    """

    def __init__(self, make: Callable[[], Any] = threading.Lock) -> None:
        self._make = make
        self._lock = make()
        tell(self)

    def after_fork(self) -> None:
        """The thread that held the lock does not exist in a forked child: begin with another."""
        self._lock = self._make()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

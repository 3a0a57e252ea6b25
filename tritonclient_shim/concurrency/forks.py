"""Forks: objects that a forked child must repair, and locks that are free there."""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """An object with state that does not survive a fork, such as threads, locks and streams."""

    def after_fork(self) -> None:
        """Repair the object, in the forked child, before other code of this package runs."""


_repaired: WeakSet[ForkAware] = WeakSet()
_repaired_first: WeakSet[ForkAware] = WeakSet()


def repair(state: ForkAware) -> None:
    """Call ``state.after_fork()`` in every child that is forked from now on, while it lives."""
    _repaired.add(state)


def repair_first(state: ForkAware) -> None:
    """Call ``state.after_fork()`` before objects of :func:`repair` forget what the fork broke."""
    _repaired_first.add(state)


#: The process whose forks have been noticed.
process = os.getpid()
_repairing = threading.RLock()


def _after_fork() -> None:
    global process
    for state in [*_repaired_first, *_repaired]:
        state.after_fork()
    process = os.getpid()


def notice() -> None:
    """Repair this process after a fork that did not run Python's hooks, such as uWSGI's.

    Every operation that uses state of its parent calls this first.
    """
    if os.getpid() != process:
        with _repairing:
            if os.getpid() != process:  # another thread may have repaired it meanwhile
                _after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_after_fork)


class Lock:
    """A lock that is free in a forked child, whichever thread of the parent held it.

    Enter ``lock`` itself, which is written in C. A signal can interrupt Python methods, such as
    those of ``threading.Condition``, when they have taken a lock. Then it stays taken for ever. The
    lock lets its own thread in again, because a signal's handler may call what the signal
    interrupted.
    """

    def __init__(self) -> None:
        self.after_fork()
        repair(self)

    def after_fork(self) -> None:
        """Make another lock: the thread that held the first one does not exist in a child."""
        self.lock = threading.RLock()

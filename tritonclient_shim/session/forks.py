"""What this process must mend after it was forked: the objects that asked to be told."""

from __future__ import annotations

import os
from typing import Protocol
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


os.register_at_fork(after_in_child=_after_fork)

"""Counts uses by id, file and line, from any thread."""

from __future__ import annotations

from typing import NamedTuple

from tritonclient_shim.core import forks


class Use(NamedTuple):
    """One legacy symbol or usage pattern at one line of the user's."""

    id: str
    file: str
    line: int


class Recorder:
    """The uses of one process."""

    def __init__(self) -> None:
        self._counts: dict[Use, int] = {}
        self._lock = forks.Lock()
        forks.tell(self)

    def count(self, id: str, file: str, line: int) -> None:
        """Count one use."""
        use = Use(id, file, line)
        with self._lock:
            self._counts[use] = self._counts.get(use, 0) + 1

    def after_fork(self) -> None:
        """Count from zero in a forked child, because its parent reports the earlier uses."""
        self._counts = {}

    def counts(self) -> dict[Use, int]:
        """How often each use occurred, ordered by file, line and id."""
        with self._lock:
            items = list(self._counts.items())
        return dict(sorted(items, key=lambda item: (item[0].file, item[0].line, item[0].id)))

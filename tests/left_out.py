"""A plugin of pytest that says how many tests of the mark ``release`` a run has left out."""

from __future__ import annotations

from typing import Any, Sequence

import pytest

_KEY = "left_out"


class LeftOut:
    """A count of the tests that are left out: of this process, or of its workers."""

    def __init__(self) -> None:
        self._count = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count those that ``-m`` and not a choice of the user's has left out."""
        self._count += sum(item.get_closest_marker("release") is not None for item in items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the count of a worker to the process that writes the summary."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_KEY] = self._count

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the count of a worker, which collects the same tests as the other ones."""
        self._count = max(self._count, getattr(node, "workeroutput", {}).get(_KEY, 0))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what is left out, and how to run it."""
        if self._count:
            terminalreporter.write_line(
                f"left out: {self._count} tests for releases; `scripts/test --all` runs them, "
                "and pytest does with -m ''"
            )

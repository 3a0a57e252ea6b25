"""What a run has tried, for the table in docs/reliability.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Callable, NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

#: ``tried(promise, amount, unit)``: a test has kept a promise so often.
Tried = Callable[[str, int, str], None]


class Figure(NamedTuple):
    """So much of something was tried in a test for a promise."""

    promise: str
    test: str
    amount: int
    unit: str


class Figures:
    """All that was tried in a run, and what failed."""

    def __init__(self) -> None:
        self.kept: list[Figure] = []
        self.failed: dict[str, int] = {}  # by test

    def table(self) -> str:
        """The figures in Markdown."""
        lines = ["| promise | test | tried | result |", "|---|---|---|---|"]
        for promise in dict.fromkeys(one.promise for one in self.kept):
            mine = [one for one in self.kept if one.promise == promise]
            tests = list(dict.fromkeys(one.test for one in mine))
            units = dict.fromkeys(one.unit for one in mine)
            amounts = ", ".join(
                f"{sum(one.amount for one in mine if one.unit == unit):,} {unit}" for unit in units
            )
            failed = sum(self.failed.get(test, 0) for test in tests)
            names = ", ".join(f"`{test}`" for test in tests)
            result = f"{failed} tests failed" if failed else "kept"
            lines.append(f"| {promise} | {names} | {amounts} | {result} |")
        return "\n".join(lines)


def with_figures(page: str, heading: str, table: str) -> str:
    """The page with this table between its marks."""
    block = f"{BEGIN}\n{heading}\n\n{table}\n{END}"
    changed, count = re.subn(f"{BEGIN}.*?{END}", lambda _: block, page, flags=re.DOTALL)
    assert count == 1, "the page has one place for the figures"
    return changed

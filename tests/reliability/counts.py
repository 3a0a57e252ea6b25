"""The attempts of a run, for the table in docs/reliability.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Callable, NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

_HEAD = ("| promise | test | tried | result | measured |", "|---|---|---|---|---|")

#: ``tried(promise, amount, unit)`` records how often a test has kept a promise.
Tried = Callable[[str, int, str], None]


class Count(NamedTuple):
    """The attempts of a test for a promise."""

    promise: str
    test: str
    amount: int
    unit: str


class Counts:
    """All attempts of a run, and the tests that failed."""

    def __init__(self) -> None:
        self.kept: list[Count] = []
        self.failed: dict[str, int] = {}  # by test

    def rows(self, measured: str) -> dict[str, str]:
        """Return each promise's row of the table. ``measured`` says when, and with what."""
        rows = {}
        for promise in dict.fromkeys(item.promise for item in self.kept):
            mine = [item for item in self.kept if item.promise == promise]
            tests = list(dict.fromkeys(item.test for item in mine))
            units = dict.fromkeys(item.unit for item in mine)
            amounts = ", ".join(
                f"{sum(item.amount for item in mine if item.unit == unit):,} {unit}"
                for unit in units
            )
            failed = sum(self.failed.get(test, 0) for test in tests)
            names = ", ".join(f"`{test}`" for test in tests)
            result = f"{failed} tests failed" if failed else "kept"
            rows[promise] = f"| {promise} | {names} | {amounts} | {result} | {measured} |"
        return rows


def with_counts(page: str, rows: dict[str, str]) -> str:
    """Return the page with these rows in its table, and all other rows unchanged."""
    result = re.search(f"{BEGIN}\n(.*?){END}", page, re.DOTALL)
    assert result, "the page has a place for the figures"
    before = [line for line in result.group(1).splitlines()[2:] if line.startswith("| ")]
    all_rows = {line[2:].partition(" |")[0]: line for line in before}
    all_rows.update(rows)
    table = "\n".join([*_HEAD, *all_rows.values()])
    return f"{page[: result.start(1)]}{table}\n{page[result.end(1) :]}"

"""Compares what a measured run of the suite did not reach with the gaps that are listed.

    python -m tests.coverage_gaps REPORT [TABLE]

REPORT is what ``coverage json`` writes. Whatever is missing in it must be listed in TABLE
(``coverage_gaps.toml``) with its reason, and whatever is listed must be missing. A gap is known by
its function and the text of its line, so that it stays the same gap when lines move.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple

try:
    import tomllib  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # before Python 3.11
    import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]

SHOWN = 100  # where a part of the suite was measured there are thousands
TABLE = Path(__file__).with_suffix(".toml")


class Gap(NamedTuple):
    """A line that was not reached, or from which one of the ways on was not taken."""

    file: str
    function: str  # qualified; empty for the lines outside of every function
    line: str

    def __str__(self) -> str:
        return f"{self.file}: {self.function or '(module)'}: {self.line}"


def missing(report: Mapping[str, Any]) -> Counter[Gap]:
    """Return what a report says was not reached. Read the files that the report names."""
    return Counter(
        gap
        for file, result in report["files"].items()
        for gap in _of_file(file, result["functions"])
    )


def _of_file(file: str, functions: Mapping[str, Any]) -> Iterator[Gap]:
    """Yield a branch whose other end was not reached is named once, by that end."""
    lines = Path(file).read_text("utf-8").splitlines()
    unreached = {number for result in functions.values() for number in result["missing_lines"]}
    for function, result in functions.items():
        ways = {start for start, end in result["missing_branches"] if end not in unreached}
        for number in sorted(ways.difference(unreached).union(result["missing_lines"])):
            yield Gap(file, function, lines[number - 1].strip())


def listed(table: Path) -> Counter[Gap]:
    """Return the gaps of the table."""
    rows = tomllib.loads(table.read_text("utf-8")).get("gap", [])
    without = [row for row in rows if not row.get("reason", "").strip()]
    if without:
        raise SystemExit(f"{table.name}: a gap without its reason: {without[0]}")
    return Counter(Gap(row["file"], row["function"], line) for row in rows for line in row["lines"])


def main(report: str, table: str = str(TABLE)) -> int:
    """Print the differences → exit status."""
    result = missing(json.loads(Path(report).read_text("utf-8")))
    known = listed(Path(table))
    for title, gaps in {
        "Neither covered nor listed: write the test, or list it with its reason": result - known,
        "Listed, but covered or no longer there: take it from the table": known - result,
    }.items():
        if gaps:
            rest = sum(gaps.values()) - SHOWN
            more = [f"and {rest} more"] if rest > 0 else []
            print(f"{title}:", *sorted(gaps.elements())[:SHOWN], *more, sep="\n  ")
    print(f"{sum(result.values())} gaps, {sum((result & known).values())} of them listed")
    return int(result != known)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

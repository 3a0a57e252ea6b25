"""Compares the code that a measured run of the suite did not reach with the listed gaps.

    python -m tests.coverage_gaps REPORT [TABLE]

REPORT is what ``coverage json`` writes. Each of its gaps must be listed in TABLE
(``coverage_gaps.toml``) with a reason, and each listed gap must exist. A function and the text
of a line identify a gap, so that lines may move.
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

SHOWN = 100  # a run of a part of the suite has thousands of gaps
TABLE = Path(__file__).with_suffix(".toml")


class Gap(NamedTuple):
    """A line that was not reached, or that has a branch that was not taken."""

    file: str
    function: str  # qualified; empty for the lines outside of every function
    line: str

    def __str__(self) -> str:
        return f"{self.file}: {self.function or '(module)'}: {self.line}"


def missing(report: Mapping[str, Any]) -> Counter[Gap]:
    """Return the gaps of a report. Read the files that the report names."""
    return Counter(
        gap
        for file, result in report["files"].items()
        for gap in _of_file(file, result["functions"])
    )


def _of_file(file: str, functions: Mapping[str, Any]) -> Iterator[Gap]:
    """Yield the gaps of a file, without branches to unreached lines."""
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
    """Print the differences, and return the exit status."""
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

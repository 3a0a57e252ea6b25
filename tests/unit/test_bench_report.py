"""What the benchmarks print and write: every comparison says against what it is, and its goal."""

from __future__ import annotations

import pytest

from benchmarks import report
from benchmarks.harness import Comparison, Ratio

RATIO = Ratio(1.25, 1.0, 1.5)
TAKEN = {"versions": {"Python": "3.11.7"}}


def comparison(against: str, goal: float | None) -> Comparison:
    """Of one row."""
    return Comparison("small", "gRPC", against, 30, RATIO, None, goal)


@pytest.mark.parametrize(
    "against, goal, name, shown",
    [
        ("hand", 0.5, "small", "≤ 0.50"),
        ("bare", 1.15, "small ÷ bare", "≤ 1.15"),
        ("floor", None, "small ÷ floor", "–"),
        ("imports", 1.3, "small", "≤ 1.30"),
    ],
)
def test_each_comparison_is_named_with_its_goal(
    against: str, goal: float | None, name: str, shown: str
) -> None:
    """The hand port is what a row is about; other programs are named, with a goal or without."""
    done = [comparison(against, goal)]
    row = report.table(done, TAKEN).splitlines()[2]
    assert row == f"| {name} | gRPC | 1.25 (1.00–1.50) | – | {shown} | 30 |"
    other = name.replace("small", "small, gRPC")
    assert report.line(done[0]) == f"{other}: wall 1.25 (1.00–1.50), CPU –, 30 pairs"
    (written,) = report.figures(done, TAKEN)["comparisons"]
    assert (written["against"], written["goal"]) == (against, goal)

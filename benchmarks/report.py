"""Comparisons as lines, as the table of the README, and as JSON."""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Sequence

from benchmarks.harness import Comparison, Ratio

_PACKAGES = ("tritonclient", "grpcio", "numpy", "protobuf")


def versions() -> dict[str, str]:
    """What the figures were taken with."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        found[name] = version(name)
    return found


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio.median:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def line(one: Comparison) -> str:
    """A comparison on one line."""
    against = "" if one.against in ("hand", "imports") else f" ÷ {one.against}"
    return (
        f"{one.workload}, {one.protocol}{against}: wall {_ratio(one.wall)}, "
        f"CPU {_ratio(one.cpu)}, {one.pairs} pairs"
    )


def table(done: Sequence[Comparison]) -> str:
    """Facade ÷ hand port in Markdown, one row per workload and protocol."""
    rows = [
        "| workload | protocol | wall | client CPU | goal (wall) | pairs |",
        "|---|---|---|---|---|---|",
    ]
    for one in done:
        name = one.workload if one.goal is not None else f"{one.workload} ÷ {one.against}"
        goal = f"≤ {one.goal:.2f}" if one.goal is not None else "–"
        rows.append(
            f"| {name} | {one.protocol} | {_ratio(one.wall)} | {_ratio(one.cpu)} "
            f"| {goal} | {one.pairs} |"
        )
    rows.append("")
    rows.append(", ".join(f"{name} {number}" for name, number in versions().items()))
    return "\n".join(rows)


def figures(done: Sequence[Comparison]) -> dict[str, Any]:
    """The same as plain data."""
    return {"versions": versions(), "comparisons": [asdict(one) for one in done]}

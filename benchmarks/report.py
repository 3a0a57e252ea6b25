"""Comparisons as lines, as a table, and as JSON."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Mapping, Sequence

import tritonclient.http

from benchmarks.harness import Comparison, Ratio

_PACKAGES = ("tritonclient", "grpcio", "numpy", "protobuf", "nvidia-pytriton")
Conditions = Mapping[str, Any]


def conditions(http: str, only: str, seconds: float) -> Conditions:
    """How the figures are taken, on the server with this HTTP address."""
    return {
        "date": date.today().isoformat(),
        "only": only,
        "seconds": seconds,
        "cores": len(os.sched_getaffinity(0)),
        "versions": _versions(http),
    }


def _versions(http: str) -> dict[str, str]:
    versions = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    with tritonclient.http.InferenceServerClient(http) as client:
        versions["Triton"] = client.get_server_metadata()["version"]
    return versions


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio.median:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def line(one: Comparison) -> str:
    """Return a comparison as one line."""
    return (
        f"{one.workload}, {one.protocol}{_against(one)}: wall {_ratio(one.wall)}, "
        f"CPU {_ratio(one.cpu)}, {one.pairs} pairs"
    )


def _against(one: Comparison) -> str:
    """Nothing for the programs that the names of the rows are about."""
    return "" if one.against in ("hand", "imports") else f" ÷ {one.against}"


def table(done: Sequence[Comparison], taken: Conditions) -> str:
    """Facade ÷ each other program in Markdown: median (lower quartile–upper quartile)."""
    rows = [
        "| workload | protocol | wall | client CPU | goal (wall) | pairs |",
        "|---|---|---|---|---|---|",
    ]
    for comparison in done:
        name = comparison.workload + _against(comparison)
        goal = f"≤ {comparison.goal:.2f}" if comparison.goal is not None else "–"
        ratios = f"{_ratio(comparison.wall)} | {_ratio(comparison.cpu)}"
        rows.append(f"| {name} | {comparison.protocol} | {ratios} | {goal} | {comparison.pairs} |")
    rows.append("")
    rows.append(", ".join(f"{name} {number}" for name, number in taken["versions"].items()))
    return "\n".join(rows)


def figures(done: Sequence[Comparison], taken: Conditions) -> dict[str, Any]:
    """Return the report as plain data."""
    return {**taken, "comparisons": [asdict(comparison) for comparison in done]}

"""Comparisons as lines and as JSON."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from typing import Any, Mapping, Sequence

import tritonclient.http

from benchmarks.harness import Comparison, Ratio

_PACKAGES = ("tritonclient", "grpcio", "numpy", "protobuf")
Conditions = Mapping[str, Any]


def conditions(http: str, only: str, seconds: float) -> Conditions:
    """Return date, rows, seconds, cores and versions of a run on this server."""
    return {
        "date": date.today().isoformat(),
        "only": only,
        "seconds": seconds,
        "cores": len(os.sched_getaffinity(0)),
        "versions": _versions(http),
    }


def _versions(http: str) -> dict[str, str]:
    versions = {"Python": platform.python_version()}
    versions.update({name: version(name) for name in _PACKAGES})
    with tritonclient.http.InferenceServerClient(http) as client:
        versions["Triton"] = client.get_server_metadata()["version"]
    return versions


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio.median:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def line(comparison: Comparison) -> str:
    """Return a comparison as one line, with the quartiles of its ratios."""
    is_named = comparison.against not in ("hand", "imports")
    against = f" ÷ {comparison.against}" if is_named else ""
    goal = "" if comparison.goal is None else f", goal ≤ {comparison.goal:.2f}"
    return (
        f"{comparison.workload}, {comparison.protocol}{against}: wall {_ratio(comparison.wall)}"
        f"{goal}, CPU {_ratio(comparison.cpu)}, {comparison.pairs} pairs"
    )


def figures(done: Sequence[Comparison], taken: Conditions) -> dict[str, Any]:
    """Return the report as plain data."""
    return {**taken, "comparisons": [asdict(comparison) for comparison in done]}

"""Comparisons as lines, and as the tables of docs/costs.md.

Replace the text between START, with the version of this Python, and STOP.
"""

from __future__ import annotations

import os
import platform
import sys
import textwrap
from datetime import date
from importlib.metadata import version
from typing import Mapping, Sequence, Tuple

import tritonclient.http

from benchmarks.harness import ROOT, Comparison, Ratio

START = "<!-- scripts/bench --write writes this part on Python {}.{} -->".format(*sys.version_info)
STOP = "<!-- until here -->"
#: Of each protocol: the heading, the program that the facade is divided by, and the clock.
COLUMNS = (("hand", "hand", "wall"), ("CPU", "hand", "cpu"), ("÷ bare", "bare", "wall"))
WIDTH = 98
_PACKAGES = ("tritonclient", "grpcio", "numpy", "protobuf")
#: Comparisons by workload, protocol and program.
Comparisons = Mapping[Tuple[str, str, str], Comparison]


def conditions(http: str, seconds: float) -> str:
    """Return date, seconds, cores and versions of a run on this server, as a sentence."""
    versions = {"Python": platform.python_version()}
    versions.update({name: version(name) for name in _PACKAGES})
    with tritonclient.http.InferenceServerClient(http) as client:
        versions["Triton"] = client.get_server_metadata()["version"]
    cores = len(os.sched_getaffinity(0))
    return (
        f"Taken on {date.today()} with up to {seconds:g} seconds per row on {cores} cores. "
        f"Versions: {', '.join(f'{name} {number}' for name, number in versions.items())}."
    )


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


def write_page(done: Sequence[Comparison], taken: str) -> None:
    """Write all rows and the conditions into docs/costs.md, if it has a part of this Python."""
    rows = {(row.workload, row.protocol, row.against): row for row in done}
    page = ROOT / "docs" / "costs.md"
    before, start, rest = page.read_text("utf-8").partition(START)
    if start:
        after = rest.partition(STOP)[2]
        page.write_text(f"{before}{START}\n\n{_costs(rows, taken)}\n\n{STOP}{after}", "utf-8")


def _costs(rows: Comparisons, taken: str) -> str:
    workloads = dict.fromkeys(workload for workload, _, against in rows if against == "hand")
    head = ["workload"]
    for protocol in ("gRPC", "HTTP"):
        head += [f"{protocol} ÷ hand", *(heading for heading, _, _ in COLUMNS[1:])]
    (duration,) = (row.wall.median for row in rows.values() if row.against == "imports")
    text = (
        f"Importing `tensorrtserver.api` takes {duration:.2f} times as long as importing numpy and "
        f"google.protobuf, which it needs. {taken}"
    )
    lines = textwrap.fill(text, WIDTH, break_on_hyphens=False)
    return f"{_table(head, [_cells(workload, rows, COLUMNS) for workload in workloads])}\n{lines}"


def _cells(
    workload: str, rows: Comparisons, columns: tuple[tuple[str, str, str], ...]
) -> list[str]:
    ratios = [
        getattr(rows.get((workload, protocol, against)), clock, None)
        for protocol in ("gRPC", "HTTP")
        for _, against, clock in columns
    ]
    return [workload, *(f"{ratio.median:.2f}" if ratio else "–" for ratio in ratios)]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

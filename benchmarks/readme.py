"""``python -m benchmarks.readme FILE``: write the figures of ``--json FILE`` into the pages.

README.md gets a few rows. docs/costs.md gets all rows and their conditions. In each page the text
between START and STOP is replaced.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any, Mapping

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
COSTS = ROOT / "docs" / "costs.md"
START = "<!-- scripts/bench --readme FILE writes this part -->"
STOP = "<!-- until here -->"
#: Of each protocol: the heading, the program that the facade is divided by, and the clock.
COLUMNS = (("hand", "hand", "wall"), ("CPU", "hand", "cpu"), ("÷ bare", "bare", "wall"))
#: The rows of README.md: a row of each kind of work.
README_ROWS = (
    "small run, 2×INT32[16]",
    "8×FP32[3,224,224] in, FP32[1000] out",
    "100k short strings in and out",
    "1000 async requests in flight",
    "64 MB in and out, system shared memory",
)
WIDTH = 98

Document = Mapping[str, Any]


def costs(document: Document) -> str:
    """Return the table of all rows, and the conditions of the run."""
    ratios = _ratios(document)
    workloads = dict.fromkeys(workload for workload, _, against in ratios if against == "hand")
    head = ["workload"]
    for protocol in ("gRPC", "HTTP"):
        head += [f"{protocol} ÷ hand", *(heading for heading, _, _ in COLUMNS[1:])]
    lines = [_cells(workload, ratios, COLUMNS) for workload in workloads]
    text = _taken(document, ratios)
    return f"{_table(head, lines)}\n{textwrap.fill(text, WIDTH, break_on_hyphens=False)}"


def overview(document: Document) -> str:
    """Return the table of README_ROWS by the wall clock."""
    ratios = _ratios(document)
    lines = [_cells(workload, ratios, COLUMNS[:1]) for workload in README_ROWS]
    return _table(["workload", "gRPC ÷ hand", "HTTP ÷ hand"], lines).rstrip("\n")


def _ratios(document: Document) -> dict[tuple[str, str, str], Document]:
    """Return the comparisons by workload, protocol and program.

    Raise ValueError if the file has only some rows.
    """
    if document["only"]:
        raise ValueError(f"FILE has only rows with {document['only']!r}: run scripts/bench")
    return {
        (row["workload"], row["protocol"], row["against"]): row for row in document["comparisons"]
    }


def _cells(
    workload: str,
    ratios: Mapping[tuple[str, str, str], Document],
    columns: tuple[tuple[str, str, str], ...],
) -> list[str]:
    medians = [
        ratios.get((workload, protocol, against), {}).get(clock)
        for protocol in ("gRPC", "HTTP")
        for _, against, clock in columns
    ]
    return [workload, *(f"{ratio['median']:.2f}" if ratio else "–" for ratio in medians)]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _taken(document: Document, ratios: Mapping[tuple[str, str, str], Document]) -> str:
    (duration,) = (row["wall"]["median"] for key, row in ratios.items() if key[2] == "imports")
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items())
    return (
        f"Importing `tensorrtserver.api` takes {duration:.2f} times as long as importing numpy and "
        f"google.protobuf, which it needs. Taken on {document['date']} with up to "
        f"{document['seconds']:g} seconds per row on {document['cores']} cores: {versions}."
    )


def replaced(page: str, new: str) -> str:
    """Return a page with a new part. Raise ValueError unless it has each marker once."""
    before, rest = page.split(START)
    _, after = rest.split(STOP)
    return f"{before}{START}\n\n{new}\n\n{STOP}{after}"


def main(file: str) -> None:
    """Write the parts of both pages, or none."""
    document = json.loads(Path(file).read_text("utf-8"))
    parts = {README: overview(document), COSTS: costs(document)}
    pages = {path: replaced(path.read_text("utf-8"), part) for path, part in parts.items()}
    for path, page in pages.items():
        path.write_text(page, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

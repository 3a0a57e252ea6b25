"""``python -m benchmarks.readme FILE``: what ``--json FILE`` wrote, as the README shows it.

It replaces what stands in the README between START and STOP; the rest is written by hand.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any, Mapping

README = Path(__file__).resolve().parents[1] / "README.md"
START = "<!-- scripts/bench --readme FILE writes this part -->"
STOP = "<!-- until here -->"
HEAD = (
    "| workload | gRPC ÷ hand | CPU | ÷ bare | HTTP ÷ hand | CPU | ÷ bare |\n"
    "|---|---|---|---|---|---|---|\n"
)
#: Of each protocol: the program that the facade is divided by, and the clock.
COLUMNS = (("hand", "wall"), ("hand", "cpu"), ("bare", "wall"))
WIDTH = 98

Document = Mapping[str, Any]


def part(document: Document) -> str:
    """The table of the facade ÷ the hand port and ÷ bare, then how it was taken.

    ValueError when the document is not of every row.
    """
    if document["only"]:
        raise ValueError(f"these are the rows with {document['only']!r} only: run scripts/bench")
    found = {
        (one["workload"], one["protocol"], one["against"]): one for one in document["comparisons"]
    }
    workloads = dict.fromkeys(workload for workload, _, against in found if against == "hand")
    lines = [_line(workload, found) for workload in workloads]
    text = f"{_import(document)} {_taken(document)}"
    return f"{HEAD}{''.join(lines)}\n{textwrap.fill(text, WIDTH, break_on_hyphens=False)}"


def _line(workload: str, found: Mapping[tuple[str, str, str], Document]) -> str:
    ratios = [
        found.get((workload, protocol, against), {}).get(clock)
        for protocol in ("gRPC", "HTTP")
        for against, clock in COLUMNS
    ]
    cells = [f"{ratio['median']:.2f}" if ratio else "–" for ratio in ratios]
    return f"| {workload} | {' | '.join(cells)} |\n"


def _import(document: Document) -> str:
    (taken,) = (one for one in document["comparisons"] if one["against"] == "imports")
    return (
        f"Importing `tensorrtserver.api` takes {taken['wall']['median']:.2f} times as long as "
        "importing numpy and google.protobuf, which it needs."
    )


def _taken(document: Document) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items())
    return (
        f"Taken on {document['date']} with up to {document['seconds']:g} seconds per row on "
        f"{document['cores']} cores: {versions}."
    )


def replaced(readme: str, new: str) -> str:
    """The README with another part. ValueError unless it has each marker once, in order."""
    if readme.count(START) != 1 or readme.count(STOP) != 1:
        raise ValueError(f"README.md must have one line {START!r} and one line {STOP!r}")
    before, rest = readme.split(START)
    if STOP not in rest:
        raise ValueError(f"README.md must have {STOP!r} below {START!r}")
    return f"{before}{START}\n\n{new}\n\n{STOP}{rest.split(STOP)[1]}"


def main(file: str) -> None:
    """Write the README anew."""
    document = json.loads(Path(file).read_text("utf-8"))
    README.write_text(replaced(README.read_text("utf-8"), part(document)), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

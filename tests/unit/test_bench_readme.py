"""The tables of README and docs/costs.md come from the file that the benchmarks wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import concurrent, processes, readme, regions, workloads


def comparison(workload: str, protocol: str, against: str, wall: float, cpu: Any) -> dict[str, Any]:
    """Return a comparison as the JSON file has it."""
    spread = {"low": 0.0, "high": 9.0}
    return {
        "workload": workload,
        "protocol": protocol,
        "against": against,
        "wall": {"median": wall, **spread},
        "cpu": None if cpu is None else {"median": cpu, **spread},
    }


DOCUMENT = {
    "date": "2031-02-03",
    "only": "",
    "seconds": 20.0,
    "cores": 4,
    "versions": {"Python": "3.11.7", "tritonclient": "2.73.0", "Triton": "2.51.0"},
    "comparisons": [
        comparison("small", "gRPC", "hand", 0.994, 0.875),
        comparison("small", "gRPC", "bare", 1.125, 2.0),
        comparison("small", "gRPC", "floor", 8.0, 8.0),
        comparison("stream", "gRPC", "hand", 1.5, 1.25),
        comparison("small", "HTTP", "pytriton", 0.3, 0.3),
        comparison("small", "HTTP", "bare", 1.1, 3.0),
        comparison("small", "HTTP", "hand", 0.5, 0.25),
        comparison("memory", "gRPC", "hand", 0.67, None),
        comparison("import", "–", "imports", 1.126, None),
        *(comparison(name, "HTTP", "hand", 0.7, None) for name in readme.README_ROWS),
    ],
}
COSTS = """\
| workload | gRPC ÷ hand | CPU | ÷ bare | HTTP ÷ hand | CPU | ÷ bare |
| --- | --- | --- | --- | --- | --- | --- |
| small | 0.99 | 0.88 | 1.12 | 0.50 | 0.25 | 1.10 |
| stream | 1.50 | 1.25 | – | – | – | – |
| memory | 0.67 | – | – | – | – | – |
{}

Importing `tensorrtserver.api` takes 1.13 times as long as importing numpy and google.protobuf,
which it needs. Taken on 2031-02-03 with up to 20 seconds per row on 4 cores: Python 3.11.7,
tritonclient 2.73.0, Triton 2.51.0.""".format(
    "\n".join(f"| {name} | – | – | – | 0.70 | – | – |" for name in readme.README_ROWS)
)
OVERVIEW = "\n".join(
    [
        "| workload | gRPC ÷ hand | HTTP ÷ hand |",
        "| --- | --- | --- |",
        *(f"| {name} | – | 0.70 |" for name in readme.README_ROWS),
    ]
)


def test_parts() -> None:
    """Each row has its medians, docs/costs.md all rows and how they were taken."""
    assert readme.costs(DOCUMENT) == COSTS
    assert readme.overview(DOCUMENT) == OVERVIEW


def test_some_rows_are_no_table() -> None:
    """The figures of ``--only`` do not replace the whole table."""
    with pytest.raises(ValueError, match="strings"):
        readme.costs({**DOCUMENT, "only": "strings"})


def test_only_the_part_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything outside the markers stays, and a second run changes nothing."""
    before, after = "# Title\n\ntext\n\n", "\n\nmore\n"
    file = tmp_path / "figures.json"
    file.write_text(json.dumps(DOCUMENT), "utf-8")
    targets = {"README": tmp_path / "README.md", "COSTS": tmp_path / "costs.md"}
    for name, target in targets.items():
        target.write_text(f"{before}{readme.START}\n\nold\n\n{readme.STOP}{after}", "utf-8")
        monkeypatch.setattr(readme, name, target)
    for _ in range(2):
        readme.main(str(file))
        for name, part in (("README", OVERVIEW), ("COSTS", COSTS)):
            expected = f"{before}{readme.START}\n\n{part}\n\n{readme.STOP}{after}"
            assert targets[name].read_text("utf-8") == expected


@pytest.mark.parametrize(
    "text",
    ["", readme.START, f"{readme.STOP}\n{readme.START}", readme.START * 2 + readme.STOP],
    ids=["none", "one", "wrong order", "twice"],
)
def test_missing_markers_are_told(text: str) -> None:
    """A page without its markers is refused."""
    with pytest.raises(ValueError, match="the page must have"):
        readme.replaced(text, COSTS)


def rows_shown(page: Path) -> list[str]:
    """Return the workloads between the markers of a page."""
    part = page.read_text("utf-8").split(readme.START)[1].split(readme.STOP)[0]
    return [line.split(" | ")[0][2:] for line in part.splitlines() if line.startswith("| ")][2:]


def test_the_pages_have_the_parts() -> None:
    """README has its rows between the markers, docs/costs.md every row there is."""
    rows = [row.name for row in (*workloads.ROWS, *concurrent.ROWS, *regions.ROWS)]
    assert sorted(rows_shown(readme.COSTS)) == sorted([*rows, processes.MEMORY])
    assert rows_shown(readme.README) == [*readme.README_ROWS]

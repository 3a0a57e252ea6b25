"""The README's table of figures comes from what the benchmarks wrote, and from nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import concurrent, processes, readme, regions, workloads


def comparison(workload: str, protocol: str, against: str, wall: float, cpu: Any) -> dict[str, Any]:
    """As the JSON file has it."""
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
    ],
}
PART = """\
| workload | gRPC ÷ hand | CPU | ÷ bare | HTTP ÷ hand | CPU | ÷ bare |
|---|---|---|---|---|---|---|
| small | 0.99 | 0.88 | 1.12 | 0.50 | 0.25 | 1.10 |
| stream | 1.50 | 1.25 | – | – | – | – |
| memory | 0.67 | – | – | – | – | – |

Importing `tensorrtserver.api` takes 1.13 times as long as importing numpy and google.protobuf,
which it needs. Taken on 2031-02-03 with up to 20 seconds per row on 4 cores: Python 3.11.7,
tritonclient 2.73.0, Triton 2.51.0."""


def test_part() -> None:
    """A line per workload with medians against the hand port and bare, then how they were taken."""
    assert readme.part(DOCUMENT) == PART


def test_some_rows_are_no_table() -> None:
    """The figures of ``--only`` do not replace the whole table."""
    with pytest.raises(ValueError, match="strings"):
        readme.part({**DOCUMENT, "only": "strings"})


def test_only_the_part_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything outside the markers stays, and writing twice changes nothing."""
    before, after = "# Title\n\ntext\n\n", "\n\nmore\n"
    file, target = tmp_path / "figures.json", tmp_path / "README.md"
    file.write_text(json.dumps(DOCUMENT), "utf-8")
    target.write_text(f"{before}{readme.START}\n\nold\n\n{readme.STOP}{after}", "utf-8")
    monkeypatch.setattr(readme, "README", target)
    for _ in range(2):
        readme.main(str(file))
        expected = f"{before}{readme.START}\n\n{PART}\n\n{readme.STOP}{after}"
        assert target.read_text("utf-8") == expected


@pytest.mark.parametrize(
    "text",
    ["", readme.START, f"{readme.STOP}\n{readme.START}", readme.START * 2 + readme.STOP],
    ids=["none", "one", "wrong order", "twice"],
)
def test_missing_markers_are_told(text: str) -> None:
    """A README without its markers is refused rather than spoilt."""
    with pytest.raises(ValueError, match="README.md must have"):
        readme.replaced(text, PART)


def test_the_readme_has_the_part() -> None:
    """The project's README has its markers and, between them, a line for every row there is."""
    text = readme.README.read_text("utf-8")
    assert readme.replaced(text, PART).count(PART) == 1
    part = text.split(readme.START)[1].split(readme.STOP)[0]
    assert part.startswith(f"\n\n{readme.HEAD}")
    bars = {line.count("|") for line in part.splitlines() if line.startswith("|")}
    assert bars == {readme.HEAD.splitlines()[0].count("|")}
    rows = [row.name for row in (*workloads.ROWS, *concurrent.ROWS, *regions.ROWS)]
    shown = [line.split(" | ")[0][2:] for line in part.splitlines() if line.startswith("| ")]
    assert sorted(shown[1:]) == sorted([*rows, processes.MEMORY])

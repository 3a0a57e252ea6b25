"""Programs in the style of real v1 code: every use is reported at its line, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tritonclient_shim.migrate.files import scan
from tritonclient_shim.scan import sources

#: Python in all but the suffix, so that other tools ignore these programs.
CORPUS = sorted((Path(__file__).parent / "scan_corpus").glob("*.txt"))


def expected(text: str) -> set[str]:
    """Return ``line:id`` of every use, from the comments at the ends of lines."""
    lines = enumerate(text.splitlines(), 1)
    return {
        f"{number}:{id}"
        for number, line in lines
        for id in re.findall(r"TS\d+", line.partition("#: ")[2])
    }


@pytest.mark.parametrize("program", CORPUS, ids=lambda path: path.stem)
def test_every_use_is_found_and_nothing_else(tmp_path: Path, program: Path) -> None:
    """The ids at each line are those in the program's comments."""
    text = program.read_text("utf-8")
    (tmp_path / "script.py").write_text(text, "utf-8")
    rows = scan(sources.read(str(tmp_path / "script.py")))
    result = {f"{row.line}:{row.entry.id}" for row in rows}
    assert sorted(expected(text) - result) == []
    assert sorted(result - expected(text)) == []

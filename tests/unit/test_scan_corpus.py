"""Programs in the styles of real v1 code: every use is found at its line, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tritonclient_shim.migrate import sources
from tritonclient_shim.rewrite.files import scan

#: Python in all but the ending: other tools that read this folder shall not take it for ours.
CORPUS = sorted((Path(__file__).parent / "scan_corpus").glob("*.txt"))


def expected(text: str) -> set[str]:
    """``line:id`` of every use, as the comments ``#: TS050 TS101`` at the ends of lines say."""
    lines = enumerate(text.splitlines(), 1)
    return {
        f"{number}:{id}"
        for number, line in lines
        for id in re.findall(r"TS\d+", line.partition("#: ")[2])
    }


@pytest.mark.parametrize("program", CORPUS, ids=lambda path: path.stem)
def test_every_use_is_found_and_nothing_else(tmp_path: Path, program: Path) -> None:
    """The ids at each line are those that the program's own comments name."""
    text = program.read_text("utf-8")
    (tmp_path / "script.py").write_text(text, "utf-8")
    rows = scan(sources.read(str(tmp_path / "script.py")))
    result = {f"{row.line}:{row.entry.id}" for row in rows}
    assert sorted(expected(text) - result) == []
    assert sorted(result - expected(text)) == []

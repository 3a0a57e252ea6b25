"""Cells of a notebook: which lines are Python, and the effect of a broken cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import scan
from tritonclient_shim.scan import sources

STAR = "from tensorrtserver.api import *\nctx = ServerHealthContext(u, p)\n"


def notebook(path: Path, *cells: str) -> str:
    """Write a notebook of code cells whose first cell makes a context → its path."""
    sources_of = [{"cell_type": "code", "source": text} for text in (STAR, *cells)]
    path.write_text(json.dumps({"nbformat": 4, "cells": sources_of}), "utf-8")
    return str(path)


def uses_in(path: Path, *cells: str) -> list[str]:
    """Return ``cell:line:id`` of every use after the first cell."""
    source = sources.read(notebook(path, *cells))
    assert not source.broken
    return [f"{row.cell}:{row.line}:{row.entry.id}" for row in scan(source) if row.cell != 1]


CELLS = {
    "time": "%time x = ctx.is_live()",
    "timeit with options": "%timeit -n 3 -r 1 -q ctx.is_live()",
    "value of a magic": "x = %timeit -o ctx.is_live()",
    "time of a loop": "%time for x in y: ctx.is_live()",
    "magic in a block": "if x:\n    %time ctx.is_live()",
    "other magics": "%cd /tmp\n!ls\n?x\nx.y?\nfiles = !ls\nctx.is_live()",
    "continued command": "!pip install \\\n    a==1 \\\n    b!=2\nctx.is_live()",
    "no magics": "x = ('a'\n  % y) if (z\n  != 1) else ctx.is_live()",
    "timed cell": "%%time\nctx.is_live()",
    "written file": "%%writefile client.py\nctx.is_live()",
}
OTHERS = ("%%bash\nctx.is_live()", "%%writefile x.sh\nls -l", "%%html\n<b>", "!a \\\nctx.is_live()")


@pytest.mark.parametrize("name", CELLS)
def test_python_of_a_cell(tmp_path: Path, name: str) -> None:
    """The statement after a magic is scanned; other lines of IPython are skipped."""
    text = CELLS[name]
    last = len(text.splitlines())
    assert uses_in(tmp_path / "book.ipynb", text) == [f"2:{last}:TS021"]


def test_lines_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In SARIF a use has the line of the notebook's file, also below equal text of an output."""
    line = "ctx.is_live()\n"
    output = {"output_type": "stream", "name": "stdout", "text": [line]}
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", line]},
        {"cell_type": "code", "outputs": [output], "source": [STAR, "a", " = 1\n", line, "x = 1"]},
        {"cell_type": "code", "outputs": [], "source": ""},
        {"cell_type": "code", "outputs": [], "source": "y = 2\nctx.is_ready()"},
    ]
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "cells": cells}, indent=1), "utf-8")
    main(["scan", str(path), "--format", "sarif", "--only", "TS021,TS022"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    regions = [x["locations"][0]["physicalLocation"]["region"] for x in results]
    rows = path.read_text("utf-8").splitlines()
    assert [region["snippet"]["text"] for region in regions] == [line.strip(), "ctx.is_ready()"]
    for region, text in zip(regions, ("ctx.is_live()", "ctx.is_ready()")):
        assert text in rows[region["startLine"] - 1]
        assert "startColumn" not in region
    assert regions[0]["startLine"] == max(n for n, row in enumerate(rows, 1) if "is_live" in row)


@pytest.mark.parametrize("magic", ["%%memit", "%%heat -o x.png"])
def test_unknown_magic_above_python(tmp_path: Path, magic: str) -> None:
    """A cell below an unknown magic is scanned if it is Python."""
    assert uses_in(tmp_path / "book.ipynb", f"{magic}\nctx.is_live()") == ["2:2:TS021"]


def test_unknown_magic_above_another_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cell below an unknown magic that is no Python is named."""
    path = notebook(tmp_path / "book.ipynb", "%%sql db\nSELECT * FROM x", "ctx.is_live()")
    assert main(["scan", path]) == 3
    output = capsys.readouterr()
    assert "cell 2: unknown magic %%sql; expected Python below it" in output.err
    assert "book.ipynb:cell 3:1" in output.out


@pytest.mark.parametrize("text", OTHERS)
def test_other_languages(tmp_path: Path, text: str) -> None:
    """Commands and cells in other languages have no use."""
    assert uses_in(tmp_path / "book.ipynb", text) == []


def test_broken_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unparsable cell is named with the reason; other cells are scanned."""
    path = notebook(tmp_path / "book.ipynb", "print 'old'", "def f(:", "x\nctx.is_live()")
    assert main(["scan", path]) == 3
    output = capsys.readouterr()
    assert "book.ipynb: cell 2: line 1: Missing parentheses in call to 'print'" in output.err
    assert "book.ipynb: cell 3: line 1: " in output.err
    assert "book.ipynb:cell 4:2" in output.out


def test_machine_readable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has a field for the cell, SARIF its text."""
    path = notebook(tmp_path / "book.ipynb")
    main(["scan", path, "--format", "json", "--only", "TS001"])
    (use,) = json.loads(capsys.readouterr().out)["uses"]
    assert (use["cell"], use["line"], use["count"]) == (1, 1, None)
    main(["scan", path, "--format", "sarif", "--only", "TS001"])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["message"]["text"].startswith("Cell 1: ")


def test_place_behind_a_magic(tmp_path: Path) -> None:
    """The line of a use is that of the cell; column and text are those of the statement."""
    source = sources.read(notebook(tmp_path / "book.ipynb", "a = 1\n%time x = ctx.is_live()"))
    row = scan(source)[-1]
    assert (row.line, row.column, row.snippet) == (2, 5, "x = ctx.is_live()")


@pytest.mark.parametrize(
    "document",
    [[], {"worksheets": []}, {"cells": [{"cell_type": "code", "source": None}]}, {"cells": [1]}],
)
def test_no_notebook(tmp_path: Path, document: object) -> None:
    """JSON that is no notebook, or one of an older format, is refused with what was expected."""
    (tmp_path / "book.ipynb").write_text(json.dumps(document), "utf-8")
    with pytest.raises(sources.Unreadable, match="no notebook of format 4: expected cells with"):
        sources.read(str(tmp_path / "book.ipynb"))

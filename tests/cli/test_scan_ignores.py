"""Comments ``# tritonshim: ignore`` hide what their line has, and are told where they do not."""

from __future__ import annotations

import json

import pytest

from tests.cli.scan_runs import CONTEXT, STAR, Scanner

HIDING = {
    "everything": "c.run(i, o, 4)  # tritonshim: ignore",
    "ids": "c.run(i, o, 4)  # tritonshim: ignore[TS051, ts109]",
    "behind another comment": "c.run(i, o, 4)  # noqa: E501 # tritonshim: ignore[TS051,TS109]",
    "before another comment": "c.run(i, o, 4)  # tritonshim: ignore # until the server moves",
    "with a reason": "c.run(i, o, 4)  #tritonshim:ignore[TS051,TS109] until the server moves",
    "behind a continued line": "c.run(i, \\\n   o, 4)  # tritonshim: ignore",
    "behind a long text": 'c.run("""a\nb""", o, 4)  # tritonshim: ignore',
    "behind several long texts": 'c.run("""a\nb""", """\n""", 4)  # tritonshim: ignore',
}


@pytest.mark.parametrize("name", HIDING)
def test_hidden(scan: Scanner, name: str) -> None:
    """What the line has is not reported, and counted as ignored."""
    scan.write("a.py", CONTEXT + HIDING[name] + "\n")
    done = scan("a.py", "--only", "TS051,TS109")
    assert (done.status, done.err) == (0, "")
    assert done.out == "No other use of the legacy API. 1 file read; 2 uses ignored by comments.\n"


def test_other_ids_are_left(scan: Scanner) -> None:
    """Ids in the comment hide no other."""
    scan.write("a.py", CONTEXT + "c.run(i, o, 4)  # tritonshim: ignore[TS109]\n")
    assert scan.found("a.py", "--only", "TS051,TS109") == ["a.py:3:TS051"]
    assert scan.document("a.py")["hidden"] == {"ignored": 1, "baseline": 0}


def test_other_lines_are_left(scan: Scanner) -> None:
    """A comment is about its own line, and a text that looks like one is none."""
    text = "# tritonshim: ignore\nc.run(i, o)\nc.run('# tritonshim: ignore', o)\n"
    scan.write("a.py", CONTEXT + text)
    assert scan.found("a.py", "--only", "TS051") == ["a.py:4:TS051", "a.py:5:TS051"]


TOLD = {
    "c.run(i, o)  # tritonshim: ignore[TS051, TS053]": (
        "a.py:3:14: TS053 is not found on this line; remove it from the comment"
    ),
    "c.run(i, o)  # tritonshim: ignore[TS051, TS999]": "a.py:3:14: there is no id 'TS999'",
    "x = 1  # tritonshim: ignore": ("a.py:3:8: nothing is found on this line; remove the comment"),
    "x = 1  # tritonshim: ignore[TS051]": "a.py:3:8: TS051 is not found on this line",
}


@pytest.mark.parametrize("line", TOLD)
def test_needless(scan: Scanner, line: str) -> None:
    """A comment that names what is not there is told, with its place and what to do."""
    scan.write("a.py", CONTEXT + line + "\n")
    done = scan("a.py")
    assert TOLD[line] in done.err
    assert "a.py:3:" not in done.out


@pytest.mark.parametrize(
    "comment", ["ignore TS051", "ignore[]", "ignore[TS051", "skip", "ignore this", ""]
)
def test_not_understood(scan: Scanner, comment: str) -> None:
    """A comment in another form hides nothing, and what was expected is told."""
    scan.write("a.py", CONTEXT + f"c.run(i, o)  # tritonshim: {comment}\n")
    done = scan("a.py")
    assert "a.py:3:1: TS051" in done.out
    assert "a.py:3:14: this comment hides nothing: expected `# tritonshim: ignore`" in done.err


def test_what_was_not_looked_for_is_not_missed(scan: Scanner) -> None:
    """With --only, comments about other ids are not told of."""
    text = "c.run(i, o, 4)  # tritonshim: ignore[TS109]\nc.run(i, o)  # tritonshim: ignore\n"
    scan.write("a.py", CONTEXT + text)
    assert scan("a.py", "--only", "TS001").err == ""


def test_notebook(scan: Scanner) -> None:
    """Comments in cells are about the cell's line, and told with the cell."""
    cells = [
        {"cell_type": "code", "source": ["!ls\n", STAR.rstrip() + "  # tritonshim: ignore"]},
        {"cell_type": "code", "source": ["x = 1\n", "x = 2  # tritonshim: ignore[TS051]"]},
    ]
    scan.write("a.ipynb", json.dumps({"cells": cells}))
    done = scan("a.ipynb")
    assert done.status == 0
    assert done.err.startswith("tritonclient-shim scan: a.ipynb:cell 2:2:8: TS051 is not found")

"""Comments ``# tritonshim: ignore`` hide uses on their line."""

from __future__ import annotations

import json

import pytest

from tests.scan.scan_runs import CONTEXT, STAR, Scanner

HIDING = {
    "everything": "c.run(i, o, 4)  # tritonshim: ignore",
    "ids": "c.run(i, o, 4)  # tritonshim: ignore[TS051, ts109]",
    "behind another comment": "c.run(i, o, 4)  # noqa: E501 # tritonshim: ignore[TS051,TS109]",
    "before another comment": "c.run(i, o, 4)  # tritonshim: ignore # until the server moves",
    "with a reason": "c.run(i, o, 4)  #tritonshim:ignore[TS051,TS109] until the server moves",
}


@pytest.mark.parametrize("name", HIDING)
def test_hidden(scan: Scanner, name: str) -> None:
    """The uses of the line are not reported."""
    scan.write("a.py", CONTEXT + HIDING[name] + "\n")
    done = scan("a.py", "--only", "TS051,TS109")
    assert (done.status, done.err) == (0, "")
    assert done.out == "No use to report. 1 file read.\n"


def test_other_ids_are_left(scan: Scanner) -> None:
    """Ids in the comment hide no other id."""
    scan.write("a.py", CONTEXT + "c.run(i, o, 4)  # tritonshim: ignore[TS109]\n")
    assert scan.places("a.py", "--only", "TS051,TS109") == ["a.py:3:TS051"]


def test_other_lines_are_left(scan: Scanner) -> None:
    """A comment hides no use on another line."""
    scan.write("a.py", CONTEXT + "# tritonshim: ignore\nc.run(i, o)\n")
    assert scan.places("a.py", "--only", "TS051") == ["a.py:4:TS051"]


@pytest.mark.parametrize("comment", ["ignore TS051", "ignore[]", "ignore[TS051", "skip", ""])
def test_other_forms(scan: Scanner, comment: str) -> None:
    """A comment in another form hides nothing."""
    scan.write("a.py", CONTEXT + f"c.run(i, o)  # tritonshim: {comment}\n")
    assert "a.py:3:1: TS051" in scan("a.py").out


def test_notebook(scan: Scanner) -> None:
    """A comment in a cell hides the uses of its line in the cell."""
    source = ["!ls\n", STAR.rstrip() + "  # tritonshim: ignore"]
    cells = [{"cell_type": "code", "source": source}]
    scan.write("a.ipynb", json.dumps({"cells": cells}))
    assert scan("a.ipynb").status == 0


@pytest.mark.parametrize("line", range(4))
def test_migrate_leaves_the_file(scan: Scanner, line: int) -> None:
    """`migrate` changes no file with an ignored use, and does not report the use."""
    lines = f"{CONTEXT}x = [{{'A': 1}}, InferContext.ResultFormat.RAW]\nc.run(i, o)\n".splitlines()
    lines[line] += "  # tritonshim: ignore"
    text = "\n".join(lines) + "\n"
    script = scan.write("a.py", text)
    done = scan.captured("migrate", "--write", "--unsafe", "--to", "grpc", ".")
    assert done.status == 1
    assert script.read_text("utf-8") == text
    assert f"a.py:{line + 1}:" not in done.out
    assert f": line {line + 1} has `# tritonshim: ignore`; the file stays for it\n" in done.out


def test_migrate_leaves_names_of_numpy(scan: Scanner) -> None:
    """An ignored name of NumPy stays alone. The file is migrated."""
    health = "ServerHealthContext('u:1', ProtocolType.GRPC)\n"
    script = scan.write("a.py", f"{STAR}{health}np.bool  # tritonshim: ignore\nnp.float\n")
    done = scan.captured("migrate", "--write", ".")
    assert (done.status, done.err) == (0, "")
    text = script.read_text("utf-8")
    assert "np.bool  # tritonshim: ignore\n" in text
    assert "np.float\n" not in text and "tensorrtserver" not in text

"""The place of a use: its line, its column, and the text of the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scan.scan_runs import CONTEXT, STAR
from tritonclient_shim.cli import main
from tritonclient_shim.migrate.files import scan
from tritonclient_shim.scan import sources

PLACES = {
    "statement": (CONTEXT, "TS001", (1, 1, "from tensorrtserver.api import *")),
    "call": (CONTEXT + "x = c.run(i, o)  \n", "TS051", (3, 5, "x = c.run(i, o)")),
    "behind letters of several bytes": (
        CONTEXT + "print('ä€🙂'); c.run(i, o)\n",
        "TS051",
        (3, 15, "print('ä€🙂'); c.run(i, o)"),
    ),
    "first of several": (CONTEXT + "f(c.run(i, o), c.run(j, o))\n", "TS051", (3, 3, None)),
    "behind a form feed": (STAR + "\x0c\nc = InferContext(u)\n", "TS050", (3, 5, None)),
    "async": (STAR + "\x0c\nif FLAGS.async:\n    pass\n", "TS202", (3, 10, "if FLAGS.async:")),
    "behind async": (
        STAR + "f(FLAGS.async, InferContext(u))\n",
        "TS050",
        (2, 16, "f(FLAGS.async, InferContext(u))"),
    ),
    "windows": (CONTEXT.replace("\n", "\r\n"), "TS050", (2, 5, "c = InferContext(u, p, m)")),
}


@pytest.mark.parametrize("name", PLACES)
def test_place(tmp_path: Path, name: str) -> None:
    """Columns count characters from 1; the snippet is the original line."""
    text, id, (line, column, snippet) = PLACES[name]
    path = tmp_path / "script.py"
    path.write_bytes(text.encode("utf-8"))
    (row,) = [row for row in scan(sources.read(str(path))) if row.entry.id == id]
    assert (row.line, row.column) == (line, column)
    assert snippet is None or row.snippet == snippet


def test_encoding_that_the_source_declares(tmp_path: Path) -> None:
    """A source in Latin-1 has the columns and the text of its letters."""
    path = tmp_path / "script.py"
    path.write_bytes(f"# -*- coding: latin-1 -*-\n{STAR}x = 'ä'; np.bool\n".encode("latin-1"))
    row = scan(sources.read(str(path)))[-1]
    assert (row.line, row.column, row.snippet) == (3, 10, "x = 'ä'; np.bool")


def test_encoding_of_no_text() -> None:
    """A codec that decodes no text is refused with Python's reason and the file's name."""
    message = "^a.py: .*'hex' is not a text encoding"
    with pytest.raises(sources.Unreadable, match=message):
        sources.parsed("a.py", b"# coding: hex\n")


def test_machine_readable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON and SARIF carry the column and the line."""
    path = tmp_path / "script.py"
    path.write_text(CONTEXT + "if x:\n    c.run(i | `j`, o)\n".replace("`j`", "'`'"), "utf-8")
    line = "    c.run(i | '`', o)"
    main(["scan", str(path), "--format", "json", "--only", "TS051"])
    (use,) = json.loads(capsys.readouterr().out)["uses"]
    assert (use["line"], use["column"], use["snippet"]) == (4, 5, line)
    main(["scan", str(path), "--format", "sarif", "--only", "TS051"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 4, "startColumn": 5, "snippet": {"text": line}}
    assert run["columnKind"] == "unicodeCodePoints"

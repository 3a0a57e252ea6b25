"""Meaning of the names in a scanned file: imports of neighbours, classes, assignments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scan.scan_runs import STAR, uses_in
from tritonclient_shim.migrate import sources

ASSIGNED = {
    "annotated": "c: InferContext = InferContext(u, p, m)\nc.run(i, o)\n",
    "with": "with InferContext(u, p, m) as c: pass\nc.run(i, o)\n",
    "one of several bases": "class C(Mixin, InferContext): pass\nC(u, p, m).close(); c = C(u)\n"
    "c.run(i, o)\n",
}


@pytest.mark.parametrize("how", ASSIGNED)
def test_assigned(tmp_path: Path, how: str) -> None:
    """A context is recognised after every kind of assignment, and in a class with other bases."""
    text = STAR + ASSIGNED[how]
    assert f"{len(text.splitlines())}:TS051" in uses_in(tmp_path / "script.py", text)


def test_declared_only(tmp_path: Path) -> None:
    """A variable with only an annotation has no value yet."""
    assert uses_in(tmp_path / "script.py", STAR + "c: int\nwith x: c.run(i, o)\n") == ["1:TS001"]


def test_self_after_a_class_within(tmp_path: Path) -> None:
    """``self`` means the outer class after a class that is defined inside a method."""
    text = (
        STAR + "class Mine(InferContext):\n"
        "    def f(self):\n"
        "        class Other:\n"
        "            def g(self):\n"
        "                self.run(i, o)\n"
        "        self.run(i, o)\n"
    )
    runs = [item for item in uses_in(tmp_path / "script.py", text) if item.endswith("TS051")]
    assert runs == ["7:TS051"]


@pytest.mark.parametrize(
    "imported", ["from . import *", "from .mine import InferContext", "from nowhere import *"]
)
def test_not_ours(tmp_path: Path, imported: str) -> None:
    """Names of the user's own package, and of modules elsewhere, are not v1's."""
    assert uses_in(tmp_path / "script.py", f"{imported}\nInferContext(u, p, m)\n") == []


def test_star_import_from_the_folder_above(tmp_path: Path) -> None:
    """Each further dot of a relative star import is one folder up."""
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "common.py").write_text(STAR)
    text = "from ..common import *\nInferContext\n"
    assert "2:TS050" in uses_in(package / "inner" / "script.py", text)
    (package / "common.py").rename(package / "inner" / "common.py")  # now with a dot too many
    assert uses_in(package / "inner" / "script.py", text) == []


def test_neighbour_that_cannot_be_read(tmp_path: Path) -> None:
    """A neighbour in Python 2 hides no use of the file itself."""
    (tmp_path / "common.py").write_text(STAR + "print 'old'\n")
    text = "from common import *\nimport tensorrtserver.api as api\napi.InferContext\n"
    assert uses_in(tmp_path / "script.py", text) == ["2:TS009", "3:TS050"]


def test_starred_alone(tmp_path: Path) -> None:
    """``*a = b``, which Python parses and then refuses, hides no other use."""
    assert "2:TS050" in uses_in(tmp_path / "script.py", f"{STAR}*a = InferContext(u, p, m)\n")


@pytest.mark.parametrize("source", [None, 1, [None], {}])
def test_cells_without_text(tmp_path: Path, source: object) -> None:
    """A cell whose source is no text is refused, with its number."""
    cells = [{"cell_type": "markdown"}, {"cell_type": "code", "source": source}]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}), "utf-8")
    with pytest.raises(sources.Unreadable, match="the source of cell 2 is no text"):
        sources.read(str(tmp_path / "book.ipynb"))


@pytest.mark.parametrize("text", ["[]", '{"worksheets": []}'])
def test_no_notebook(tmp_path: Path, text: str) -> None:
    """JSON that is no notebook, or one of an older format, is refused with what was expected."""
    (tmp_path / "book.ipynb").write_text(text, "utf-8")
    with pytest.raises(sources.Unreadable, match="no notebook of format 4: .* no list of cells"):
        sources.read(str(tmp_path / "book.ipynb"))

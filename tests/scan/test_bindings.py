"""Meaning of the names that a scanned file imports from its neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scan.scan_runs import STAR, uses_in


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

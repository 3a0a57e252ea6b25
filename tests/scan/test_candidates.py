"""Only files that can have a legacy use are analysed."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.migrate import test_programs_scan as programs
from tests.scan.scan_runs import RUN, STAR, Scanner
from tests.scan.test_corpus import CORPUS, expected
from tritonclient_shim.cli import main
from tritonclient_shim.scan import sources
from tritonclient_shim.scan.imports import may_use_v1

OLD_NUMPY = "import numpy as np\nx = np.bool\n"


def test_each_program_with_uses_is_analysed(tmp_path: Path) -> None:
    """Every program with an expected use is a candidate, also without its neighbours."""
    for path in programs.sources_of_programs():
        if programs.expected().get(programs.name_of(path)):
            assert may_use_v1(str(path), path.read_bytes()), path
    for path in CORPUS:
        content = path.read_bytes()
        alone = may_use_v1(str(tmp_path / "script.py"), content)
        assert alone or not expected(content.decode()), path


def test_star_imports_of_star_imports(scan: Scanner) -> None:
    """Uses are reported if a name passes two modules that import each other."""
    scan.write("a.py", "from b import *\nc = InferContext(u, p, m)\n")
    scan.write("b.py", "from a import *\nfrom \\\n  .c import *\n")
    scan.write("c.py", STAR)
    assert "a.py:2:TS050" in scan.places("a.py")
    assert "a.py:2:TS050" in scan.places(".")


def test_other_files_are_not_parsed(scan: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without a name of v1 counts as read, and is not parsed."""
    monkeypatch.setattr(sources, "parsed", None)
    scan.write("a.py", "print 'of Python 2'\nfrom os import *\n")
    done = scan(".")
    assert (done.status, done.err) == (0, "")
    assert done.out == "No use to report. 1 file read.\n"


def test_removed_names_of_other_programs(scan: Scanner) -> None:
    """Names that NumPy removed are reported only in files that use v1."""
    scan.write("theirs.py", OLD_NUMPY)
    scan.write("ours.py", STAR + OLD_NUMPY)
    assert scan.places(".") == ["ours.py:1:TS001", "ours.py:3:TS201"]


def test_migrate_leaves_other_programs_alone(scan: Scanner) -> None:
    """Names that NumPy removed are rewritten only in files that use v1."""
    other, ours = scan.write("theirs.py", OLD_NUMPY), scan.write("ours.py", STAR + OLD_NUMPY)
    main(["migrate", "--write", "."])
    assert other.read_text() == OLD_NUMPY
    assert ours.read_text().endswith(OLD_NUMPY.replace("np.bool", "bool"))


@pytest.mark.parametrize("command", ["scan", "migrate"])
def test_warnings_of_sources(scan: Scanner, command: str) -> None:
    """``scan`` and ``migrate`` print no SyntaxWarning of a source."""
    scan.write("a.py", STAR + "if 1 is 1: '\\d'\n" + RUN)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        main([command, "a.py"])
    assert [str(item.message) for item in caught if item.category is SyntaxWarning] == []

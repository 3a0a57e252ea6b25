"""Only files that can have a legacy use are analysed."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.migrate import test_programs_scan as programs
from tests.scan.scan_runs import RUN, STAR, Scanner
from tests.scan.test_corpus import CORPUS, expected
from tritonclient_shim.cli import main
from tritonclient_shim.scan import sources
from tritonclient_shim.scan.imports import may_use_v1

OLD_NUMPY = "import numpy as np\nx = np.bool\n"


@pytest.fixture
def parsed_files(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each file is parsed, by its name."""
    counts: Counter[str] = Counter()
    parse = ast.parse

    def counted(source: Any, filename: Any = "<unknown>", *more: Any, **keywords: Any) -> Any:
        counts[Path(filename).name] += 1
        return parse(source, filename, *more, **keywords)

    monkeypatch.setattr(ast, "parse", counted)
    return counts


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


@pytest.mark.parametrize("command", ["scan", "migrate"])
def test_files_beside_other_files(scan: Scanner, command: str, parsed_files: Counter[str]) -> None:
    """Nothing is parsed for a file without uses but what it star-imports."""
    scan.write("a.py", "from b import *\nfrom c import x\n")
    scan.write("b.py", "y = 1\n")
    scan.write("c.py", "from a import y\nx = 2\n")
    assert scan.captured(command, ".").status == 0
    assert set(parsed_files) == {"a.py", "b.py"}


@pytest.mark.parametrize("command", ["scan", "migrate"])
def test_files_of_a_program_are_parsed_once(
    scan: Scanner, command: str, parsed_files: Counter[str]
) -> None:
    """A file is parsed once, however many files with uses run together with it."""
    scan.write("names.py", "x = 1\n")
    for number in range(4):
        scan.write(f"uses{number}.py", "from names import x\n" + STAR + RUN)
    scan.captured(command, ".")
    assert parsed_files["names.py"] == 1


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

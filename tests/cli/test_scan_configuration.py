"""What pyproject.toml says to ``tritonclient-shim scan``."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

from tests.cli.scan_runs import CONTEXT, RUN, Scanner

KEYS = "baseline, exclude, exit-zero, format, only"
TOML = """\
[project]
name = "mine"
dependencies = ["tritonclient-shim"]
[tool.tritonclient-shim.scan]
exclude = ["vendor", "old/*.py"]
only = ["TS001", "TS051"]
format = "json"
exit-zero = true
"""


@pytest.fixture
def sources(scan: Scanner) -> Scanner:
    """Return a folder with sources. The configurations leave some of them out."""
    for path in ("src/a.py", "src/vendor/a.py", "old/a.py"):
        scan.write(path, CONTEXT + RUN)
    return scan


def test_configured(sources: Scanner) -> None:
    """Every key holds that the command line does not give."""
    sources.write("pyproject.toml", TOML)
    done = sources(".")
    assert done.status == 0  # exit-zero
    uses = json.loads(done.out)["uses"]
    assert [(use["file"], use["id"]) for use in uses] == [
        *(("src/a.py", "TS001"), ("src/a.py", "TS051"))
    ]


def test_the_command_line_wins(sources: Scanner) -> None:
    """What the command line gives takes the place of what is configured."""
    sources.write("pyproject.toml", TOML)
    done = sources(".", "--exclude", "src", "--only", "TS050", "--format", "text")
    assert done.out.startswith("old/a.py:2:5: TS050 ")


def test_found_above(sources: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders above are looked in, too; paths in the file start from its folder."""
    sources.write("pyproject.toml", TOML)
    monkeypatch.chdir(sources.folder / "old")
    assert json.loads(sources("../old", "../src").out)["files"]["read"] == 1


def test_baseline_beside_the_configuration(
    sources: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configured baseline lies where the configuration does."""
    sources.write("pyproject.toml", '[tool.tritonclient-shim.scan]\nbaseline = "known.json"\n')
    assert sources(".", "--write-baseline", "known.json").status == 0
    assert sources(".").status == 0
    monkeypatch.chdir(sources.folder / "src")
    assert sources(".").status == 0


def test_the_nearest_is_taken(sources: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest pyproject.toml with our table is taken."""
    sources.write("pyproject.toml", "[tool.tritonclient-shim.scan]\nonly = ['TS051']\n")
    sources.write("old/pyproject.toml", "[project]\ndependencies = ['tritonclient-shim']\n")
    monkeypatch.chdir(sources.folder / "old")
    assert sources.found("a.py") == ["a.py:3:TS051"]
    sources.write("old/pyproject.toml", "[tool.tritonclient-shim.scan]\nonly = 'TS050'\n")
    assert sources.found("a.py") == ["a.py:2:TS050"]


WRONG = {
    "excluded = []": f"no such key: excluded; expected {KEYS}",
    "exclude = 1": "exclude: expected a list of texts, or one text with commas between, got 1",
    "exit-zero = 1": "exit-zero: expected true or false, got 1",
    "format = ['x']": "format: expected one of text, json, sarif, got ['x']",
    "baseline = ''": "baseline: expected the path of a file, got ''",
    "only = 'TS999'": "no such id: TS999",
    "only = ": "pyproject.toml is no TOML: ",
    "only = " + "[" * 50_000: "pyproject.toml is no TOML: ",
}


@pytest.mark.parametrize("line", WRONG, ids=lambda text: text[:60])
def test_wrong(sources: Scanner, line: str) -> None:
    """A configuration that says anything else is refused: where, what, and what was expected."""
    path = sources.write("pyproject.toml", f"[tool.tritonclient-shim.scan]\n{line}\n")
    done = sources("src")
    assert (done.status, done.out) == (2, "")
    assert WRONG[line] in done.err
    assert "TS999" in line or str(path) in done.err


def test_no_table(sources: Scanner) -> None:
    """A value in the place of the table is refused."""
    sources.write("pyproject.toml", "[tool.tritonclient-shim]\nscan = true\n")
    done = sources("src")
    assert done.status == 2
    assert "pyproject.toml: tool.tritonclient-shim.scan: expected a table, got True" in done.err


def test_files_of_others(sources: Scanner) -> None:
    """Files that say nothing to us may be as broken as they like."""
    sources.write("pyproject.toml", "[[[")
    assert sources("src").status == 1
    sources.write("pyproject.toml", "[tool.other]\nnames = ['tritonclient-shim']\n")
    assert sources("src").status == 1


@pytest.fixture
def no_toml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither tomllib nor tomli."""
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("no_toml")
def test_python_without_toml(sources: Scanner) -> None:
    """Without a reader of TOML our table is refused, with the remedies; other files are not."""
    sources.write("pyproject.toml", TOML)
    done = sources("src")
    assert (done.status, done.out) == (2, "")
    assert "has [tool.tritonclient-shim.scan], and this Python cannot read TOML" in done.err
    assert "expected Python 3.11 or later, or the package tomli: pip install tomli" in done.err
    sources.write("pyproject.toml", TOML.partition("[tool")[0])
    assert sources("src").status == 1


def test_tomli(sources: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python has no tomllib, tomli reads the table."""
    reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    monkeypatch.setitem(sys.modules, "tomllib", None)
    monkeypatch.setitem(sys.modules, "tomli", reader)
    sources.write("pyproject.toml", TOML)
    assert sources("src").status == 0

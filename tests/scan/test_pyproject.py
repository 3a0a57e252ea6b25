"""Options in ``[tool.tritonclient-shim]`` of pyproject.toml."""

from __future__ import annotations

import sys

import pytest

from tests.scan.scan_runs import CONTEXT, RUN, STAR, Scanner

pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

TABLE = "[tool.tritonclient-shim]\n"
HEALTH = "ctx = ServerHealthContext('u:1', p)\n"


@pytest.mark.parametrize("folder", ["", "src"])
def test_exclude(scan: Scanner, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """Names and paths are left out. Paths are relative to the file, not to the working folder."""
    scan.write("pyproject.toml", f'{TABLE}exclude = ["vendor", "src/old"]\n')
    for name in ("src/a.py", "src/old/b.py", "src/vendor/c.py"):
        scan.write(name, STAR)
    monkeypatch.chdir(scan.folder / folder)
    name = "a.py" if folder else "src/a.py"
    assert scan.places(".") == [f"{name}:1:TS001"]
    assert " 1 file read" in scan.captured("migrate", "--check", ".").out


def test_command_line_wins(scan: Scanner) -> None:
    """An option of the command line takes the place of the value in the file."""
    scan.write("pyproject.toml", f'{TABLE}exclude = ["a.py"]\nselect = ["TS001"]\nto = "http"\n')
    for name in ("a.py", "b.py"):
        scan.write(name, f"{STAR}{HEALTH}")
    assert scan.places(".") == ["b.py:1:TS001"]
    assert scan.places(".", "--exclude", "b.py", "--only", "TS020") == ["a.py:2:TS020"]
    words = ("--write", "--select", "TS001,TS020", "--to", "grpc", ".")
    assert scan.captured("migrate", *words).status == 0
    assert "grpcclient" in (scan.folder / "b.py").read_text("utf-8")


def test_options_of_migrate(scan: Scanner) -> None:
    """`migrate` takes protocol and ids from the file."""
    scan.write("pyproject.toml", f'{TABLE}select = ["ts001", "TS020"]\nto = "http"\n')
    scan.write("a.py", f"{STAR}{HEALTH}")
    done = scan.captured("migrate", "--write", ".")
    assert (done.status, done.err) == (0, "")
    assert "httpclient" in (scan.folder / "a.py").read_text("utf-8")


def test_baseline(scan: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The baseline of the file is used, except where a baseline is written."""
    scan.write("pyproject.toml", f'{TABLE}baseline = "known.json"\n')
    scan.write("src/a.py", CONTEXT + RUN)
    assert scan("src", "--write-baseline", "known.json").status == 0
    assert scan("src").status == 0
    monkeypatch.chdir(scan.folder / "src")
    assert scan(".").status == 0
    scan.write("src/a.py", CONTEXT + RUN + RUN)
    assert scan(".").status == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"{TABLE}excludes = []\n",
            "has the key 'excludes'; expected exclude, baseline, select, to",
        ),
        (
            f"{TABLE}exclude = 'x'\n",
            "exclude in [tool.tritonclient-shim]: expected a list of texts",
        ),
        (f"{TABLE}select = ['TS999']\n", "no such id: TS999"),
        (f"{TABLE}to = 'tcp'\n", "expected one of grpc, http, not 'tcp'"),
        (f"{TABLE}baseline = 1\n", "expected a text, not 1"),
        (f"{TABLE}baseline\n", "is no pyproject.toml: "),
        ("[tool]\ntritonclient-shim = 1\n", "expected a table [tool.tritonclient-shim]"),
    ],
)
@pytest.mark.parametrize("command", ["scan", "migrate"])
def test_wrong_tables(scan: Scanner, command: str, text: str, reason: str) -> None:
    """A wrong table is wrong usage. The message names the file, and what was expected."""
    scan.write("pyproject.toml", text)
    scan.write("a.py", STAR)
    done = scan.captured(command, ".")
    assert (done.status, done.out) == (2, "")
    assert reason in done.err
    assert str(scan.folder / "pyproject.toml") in done.err


@pytest.mark.parametrize("text", ["[tool.ruff]\n", "broken = = 1\n"])
def test_files_of_others(scan: Scanner, text: str) -> None:
    """A file that does not name us is not read."""
    scan.write("pyproject.toml", text)
    scan.write("a.py", STAR)
    assert scan.places(".") == ["a.py:1:TS001"]

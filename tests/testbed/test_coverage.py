"""scripts/coverage: what it runs, what it fails for, and how gaps are known again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (
    """import sys

def read(path):
    if path:
        return open(path)
    return None
"""
    + 130 * "    more = 1\n"
)
# An interpreter that is found, prepares a server, and compares with success.
PYTHON = """#!/bin/sh
case "$*" in
*sys.executable*) echo "$0" ;;
*) echo "python $*" ;;
esac
"""
TOX = """#!/bin/sh
case "$*" in *--notest*) exit ;; esac
echo "tox $*"
echo new > .tox/coverage-data/data.1
"""
COVERAGE = """#!/bin/sh
echo "coverage $*:" $(ls .tox/coverage-data)
"""


def compare(folder: Path, found: dict[str, Any], table: str) -> subprocess.CompletedProcess[str]:
    """Compare what a report says of the function ``read`` with a table of gaps."""
    (folder / "source.py").write_text(SOURCE, "utf-8")
    nothing: dict[str, Any] = {"missing_lines": [], "missing_branches": []}
    functions = {"": nothing, "read": {**nothing, **found}}
    report = {"files": {"source.py": {"functions": functions}}}
    (folder / "report.json").write_text(json.dumps(report), "utf-8")
    (folder / "gaps.toml").write_text(table, "utf-8")
    return subprocess.run(
        [sys.executable, "-m", "tests.coverage_gaps", "report.json", "gaps.toml"],
        cwd=str(folder),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


def gap(*lines: str, reason: str = "nobody reads") -> str:
    """An entry of the table."""
    return (
        f'[[gap]]\nfile = "source.py"\nfunction = "read"\nlines = {json.dumps(lines)}\n'
        f'reason = "{reason}"\n'
    )


def test_gap_that_is_not_listed_fails(tmp_path: Path) -> None:
    """A line that was not reached is named by its file, its function and its text."""
    done = compare(tmp_path, {"missing_lines": [6], "missing_branches": [[4, 6]]}, "")
    assert done.returncode == 1
    assert "Neither covered nor listed" in done.stdout
    assert done.stdout.count("\n  ") == 1  # the branch that leads to the line is not another gap
    assert "source.py: read: return None\n" in done.stdout


def test_way_not_taken_is_a_gap(tmp_path: Path) -> None:
    """A branch whose two ends were reached is named by the line from which it leads."""
    found = {"missing_branches": [[4, 6]]}
    done = compare(tmp_path, found, "")
    assert (done.returncode, "source.py: read: if path:\n" in done.stdout) == (1, True)
    assert compare(tmp_path, found, gap("if path:")).returncode == 0


def test_listed_gap_passes_wherever_its_line_is(tmp_path: Path) -> None:
    """What is listed with its reason is no failure, and is counted."""
    done = compare(
        tmp_path, {"missing_lines": [5, 6]}, gap("return None") + gap("return open(path)")
    )
    assert (done.returncode, done.stdout) == (0, "2 gaps, of which 2 are listed\n")


@pytest.mark.parametrize("found", [[], [5]], ids=["covered", "another line"])
def test_listed_gap_that_is_none_fails(tmp_path: Path, found: list[int]) -> None:
    """An entry whose line is reached, or is gone, has to be taken from the table."""
    done = compare(tmp_path, {"missing_lines": found}, gap("return None"))
    assert done.returncode == 1
    assert "Listed, but covered or no longer there" in done.stdout
    assert "source.py: read: return None\n" in done.stdout


def test_lines_of_the_same_text_are_counted(tmp_path: Path) -> None:
    """One entry does not stand for a second line that reads the same."""
    text = gap("return None")
    assert compare(tmp_path, {"missing_lines": [6]}, text).returncode == 0
    assert compare(tmp_path, {"missing_lines": [6]}, text + text).returncode == 1


def test_thousands_are_not_shown(tmp_path: Path) -> None:
    """Where only a part of the suite ran, the end of the list does not scroll the table away."""
    done = compare(tmp_path, {"missing_lines": list(range(7, 137))}, "")
    assert done.stdout.count(": more = 1\n") == 100
    assert "  and 30 more\n130 gaps" in done.stdout


def test_gap_needs_its_reason(tmp_path: Path) -> None:
    """An entry without a reason is refused, and shown."""
    done = compare(tmp_path, {"missing_lines": [6]}, gap("return None", reason=" "))
    assert done.returncode == 1
    assert "gaps.toml: a gap without its reason: {'file': 'source.py'" in done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The script with programs that say what they were told; an earlier run left its data."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    text = (ROOT / "scripts" / "lib.sh").read_text("utf-8")
    pins = text.partition('make_venv "$root/.venv-tox" ')[2].partition("\n")[0].replace('"', "")
    programs = {
        ".venv-tox/bin/tox": TOX,
        ".venv-tox/bin/python": PYTHON,
        ".venv-tox/complete": pins,
        ".tox/coverage/bin/coverage": COVERAGE,
        ".tox/coverage/bin/python": PYTHON,
        ".tox/coverage-data/data": "old",
        ".tox/coverage-data/data.9": "interrupted",
        "python3.13": PYTHON,
    }
    for name, content in programs.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def measure(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/coverage with the checkout's interpreter first on PATH."""
    return subprocess.run(
        ["bash", "scripts/coverage", *arguments],
        cwd=str(checkout),
        env={**os.environ, "PATH": f"{checkout}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


def test_measures_combines_reports_compares(checkout: Path) -> None:
    """A run starts from nothing, tells pytest what it was told, and ends with the comparison."""
    done = measure(checkout, "--", "tests/cli", "-k", "scan")
    assert done.returncode == 0, done.stdout
    order = ["-e coverage -- tests/cli -k scan", "coverage combine --quiet: data.1\n",
             "coverage report", "coverage json", "python -m tests.coverage_gaps"]  # fmt: skip
    places = [done.stdout.index(step) for step in order]
    assert places == sorted(places)


def test_append_keeps_what_was_measured(checkout: Path) -> None:
    """``--append`` adds to the last complete run; what an interrupted one left is gone."""
    done = measure(checkout, "--append", "--", "tests/cli")
    assert done.returncode == 0, done.stdout
    assert "coverage combine --quiet --append: data data.1\n" in done.stdout


@pytest.mark.parametrize(
    ("program", "fails"),
    [(".venv-tox/bin/tox", "the suite"), (".tox/coverage/bin/python", "the comparison")],
)
def test_failure_is_reported_at_the_end(checkout: Path, program: str, fails: str) -> None:
    """A failed test does not hide the report, and both kinds of failure are the exit status."""
    with open(checkout / program, "a", encoding="utf-8") as file:
        file.write("exit 3\n")
    done = measure(checkout)
    assert (done.returncode, "coverage report" in done.stdout) == (1, True)
    assert done.stdout.endswith(f"failed: {fails}\n")


def test_without_server_nothing_is_measured(checkout: Path) -> None:
    """Where the server cannot run, the script says so instead of reporting most as missing."""
    no_server = PYTHON.replace('*) echo "python $*" ;;', "*) exit 1 ;;")
    (checkout / "python3.13").write_text(no_server, "utf-8")
    done = measure(checkout)
    assert (done.returncode, "tox run" in done.stdout) == (1, False)
    assert "the server cannot run here" in done.stdout


def test_unknown_argument_is_named(checkout: Path) -> None:
    """A slip of the pen starts nothing."""
    done = measure(checkout, "--apend")
    assert (done.returncode, done.stdout) == (
        1,
        "coverage: unknown argument '--apend'; try --help\n",
    )
    assert "for pytest: a part of it" in measure(checkout, "--help").stdout

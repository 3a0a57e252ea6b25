"""The hook for pre-commit: its definition, and that what it starts works."""

from __future__ import annotations

import configparser
import shlex
from pathlib import Path

from tests.cli.cli_scripts import shim
from tests.cli.scan_runs import CONTEXT, RUN, Scanner

ROOT = Path(__file__).resolve().parents[2]


def hook() -> dict[str, str]:
    """The one hook that is defined; its file is a list with one mapping of plain texts."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert [line[:2] for line in lines] == ["- "] + ["  "] * (len(lines) - 1)
    return dict(line[2:].split(": ", 1) for line in lines)


def test_definition() -> None:
    """The hook is installed as a Python package, and gets Python files and notebooks."""
    found = hook()
    assert found["language"] == "python"
    assert found["types_or"] == "[python, jupyter]"
    assert {"id", "name", "description", "entry"} <= set(found)
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg", "utf-8")
    command = shlex.split(found["entry"])[0]
    assert f"{command} = " in setup["options.entry_points"]["console_scripts"]


def test_entry(scan: Scanner) -> None:
    """As pre-commit runs it, with changed files: new uses fail, those of the baseline do not."""
    scan.write("a.py", CONTEXT + RUN)
    scan.write("b.py", "x = 1\n")
    scan.write("setup.cfg", "[tritonclient-shim:scan]\nbaseline = known.json\nexclude = vendor\n")
    scan.write("vendor/c.py", CONTEXT)
    assert scan(".", "--write-baseline", "known.json").status == 0
    arguments = shlex.split(hook()["entry"])[1:]
    done = shim(scan.folder, *arguments, "a.py", "b.py", "vendor/c.py")
    assert (done.returncode, done.stderr) == (0, "")
    scan.write("b.py", CONTEXT)
    done = shim(scan.folder, *arguments, "b.py", "vendor/c.py")
    assert done.returncode == 1
    assert "b.py:2:5: TS050 " in done.stdout

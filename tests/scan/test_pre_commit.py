"""The hooks for pre-commit: their definitions, and the commands that they start."""

from __future__ import annotations

import configparser
import shlex
from pathlib import Path

import pytest

from tests.cli.cli_scripts import shim
from tests.scan.scan_runs import CONTEXT, RUN, STAR, Scanner

ROOT = Path(__file__).resolve().parents[2]


def hook(command: str = "scan") -> dict[str, str]:
    """Return the definition of a hook. The file is a list of mappings of plain texts."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert {line[:2] for line in lines} == {"- ", "  "}
    starts = [number for number, line in enumerate(lines) if line.startswith("- ")]
    ends = [*starts[1:], len(lines)]
    hooks = [
        dict(line[2:].split(": ", 1) for line in lines[start:end])
        for start, end in zip(starts, ends)
    ]
    return next(keys for keys in hooks if keys["id"] == f"tritonclient-shim-{command}")


@pytest.mark.parametrize("name", ["scan", "migrate"])
def test_definition(name: str) -> None:
    """Each hook is installed as a Python package, and gets Python files and notebooks."""
    keys = hook(name)
    assert keys["language"] == "python"
    assert keys["types_or"] == "[python, jupyter]"
    assert {"id", "name", "description", "entry"} <= set(keys)
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg", "utf-8")
    command = shlex.split(keys["entry"])[0]
    assert f"{command} = " in setup["options.entry_points"]["console_scripts"]


def test_entry(scan: Scanner) -> None:
    """Run by pre-commit on changed files, ``scan`` fails for new uses, not for known uses."""
    scan.write("a.py", CONTEXT + RUN)
    scan.write("b.py", "x = 1\n")
    scan.write("vendor/c.py", CONTEXT)
    options = ("--baseline", "known.json", "--exclude", "vendor,*_pb2.py")  # as in docs/scan.md
    assert scan(".", "--write-baseline", "known.json").status == 0
    arguments = [*shlex.split(hook()["entry"])[1:], *options]
    done = shim(scan.folder, *arguments, "a.py", "b.py", "vendor/c.py")
    assert (done.returncode, done.stderr) == (0, "")
    scan.write("b.py", CONTEXT)
    done = shim(scan.folder, *arguments, "b.py", "vendor/c.py")
    assert done.returncode == 1
    assert "b.py:2:5: TS050 " in done.stdout


def test_migrate_entry(scan: Scanner) -> None:
    """Run by pre-commit, ``migrate`` fails if it would change a file, and changes none."""
    scan.write("a.py", CONTEXT + RUN)
    scan.write("b.py", "x = 1\n")
    assert hook("migrate")["args"] == "[--check]"
    arguments = [*shlex.split(hook("migrate")["entry"])[1:], "--check"]
    assert shim(scan.folder, *arguments, "b.py").returncode == 0
    done = shim(scan.folder, *arguments, "a.py", "b.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert "+++" not in done.stdout
    assert (scan.folder / "a.py").read_text("utf-8") == CONTEXT + RUN


def test_migrate_entry_with_write(scan: Scanner) -> None:
    """The documented ``args: [--write]`` stand in place of the hook's own, and change files."""
    script = scan.write("a.py", f"{STAR}h = ServerHealthContext('u:1', ProtocolType.GRPC)\n")
    arguments = shlex.split(hook("migrate")["entry"])[1:]
    done = shim(scan.folder, *arguments, "--write", "a.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "tensorrtserver" not in script.read_text("utf-8")

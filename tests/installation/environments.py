"""Temporary virtual environments, where tests run the commands that our messages print.

Links give an environment the packages of the running Python, except ours. So a test installs only
its subject.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from importlib import metadata
from pathlib import Path
from typing import Any, Iterable

ROOT = Path(__file__).resolve().parents[2]
_STAR_NAMES = "from tensorrtserver.api import *; print(sorted(n for n in dir() if n[0] != '_'))"
_OURS = ("tritonclient_shim", "tensorrtserver", "__editable__")


class Environment:
    """A virtual environment in ``folder`` with links to the packages of the running Python."""

    def __init__(self, folder: Path, without: Iterable[str] = ()) -> None:
        venv.create(str(folder), with_pip=False)
        self.folder = folder
        self.python = str(folder / "bin" / "python")
        (self.site,) = folder.glob("lib/python3*/site-packages")
        _link(folder / "linked", {name for item in without for name in top_level(item)})
        (self.site / "linked.pth").write_text(f"{folder / 'linked'}\n", "utf-8")
        if os.environ.get("COVERAGE_PROCESS_START"):  # scripts/coverage measures here as well
            (self.site / "measured.pth").write_text("import coverage; coverage.process_startup()\n")
        self.variables: dict[str, str] = {}
        (folder / "work").mkdir()

    def run(self, *command: str) -> Any:
        """Run a command without our variables, in an empty folder. Return the finished process."""
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "TRITON_SHIM_", "VIRTUAL_ENV"))
        }
        return subprocess.run(
            command,
            cwd=str(self.folder / "work"),
            env={**kept, "PYTHONNOUSERSITE": "1", "PIP_NO_COMPILE": "1", **self.variables},
            capture_output=True,
            text=True,
            timeout=300,
        )

    def succeed(self, *command: str) -> str:
        """Return the output of a command that must succeed."""
        done = self.run(*command)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return str(done.stdout)

    def pip(self, *arguments: str) -> str:
        """Return the output of ``python -m pip arguments``."""
        return self.succeed(self.python, "-m", "pip", "--disable-pip-version-check", *arguments)

    def install(self, *arguments: str) -> None:
        """Install without dependencies."""
        self.pip("install", "--quiet", "--no-deps", *arguments)

    def doctor(self) -> Any:
        """Run ``tritonclient-shim doctor``, and return the finished process."""
        return self.run(self.python, "-m", "tritonclient_shim", "doctor")

    def star_names(self) -> Any:
        """Run a star import that prints its names, and return the finished process."""
        return self.run(self.python, "-c", _STAR_NAMES)


def commands(text: str) -> list[str]:
    """Return the commands in a message: the lines with an indent of at least four."""
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def top_level(name: str) -> set[str]:
    """Return the names in site-packages that belong to a distribution."""
    return {file.parts[0] for file in metadata.files(name) or () if file.parts[0] != ".."}


def _link(folder: Path, without: set[str]) -> None:
    """Make a folder with links to all installed packages, except ours and ``without``."""
    folder.mkdir()
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(place).iterdir():
            left_out = entry.name.startswith(_OURS) or entry.name in without
            if not left_out and entry.suffix != ".pth":
                (folder / entry.name).symlink_to(entry)


def star_names_here() -> str:
    """Return the names of the star import in the environment of the tests."""
    command = [sys.executable, "-c", _STAR_NAMES]
    done = subprocess.run(command, cwd=str(ROOT), capture_output=True, text=True)
    assert "InferContext" in done.stdout, done.stderr
    return done.stdout

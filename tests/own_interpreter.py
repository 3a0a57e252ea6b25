"""Programs in an interpreter of their own, which imports the packages under test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Sequence

import tensorrtserver

#: The folder of our packages.
ROOT = os.path.dirname(os.path.dirname(str(tensorrtserver.__file__)))


class Ended(NamedTuple):
    """The exit status and the output of a program that has ended."""

    status: int
    stdout: str
    stderr: str


def environment(**variables: str) -> dict[str, str]:
    """Return the variables of a program: our packages on its path, and no notices."""
    paths = [ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {"PYTHONPATH": os.pathsep.join(paths), "TRITON_SHIM_WARNINGS": "off"}
    return {**os.environ, **own, **variables}


def command(program: str | Path, *arguments: object) -> list[str]:
    """Return the command line of a program, given as text or as a file."""
    start = [str(program)] if isinstance(program, Path) else ["-c", program]
    return [sys.executable, "-W", "ignore", *start, *map(str, arguments)]


def run_program(
    program: str | Path, *arguments: object, within: Sequence[str] = (), **variables: str
) -> Ended:
    """Run a program to its end; ``within`` is a command that runs it."""
    ended = subprocess.run(
        [*within, *command(program, *arguments)],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)

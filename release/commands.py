"""The commands that a release runs: silent while they succeed, complete when they fail."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Mapping, Sequence

HEARTBEAT = 10.0  # seconds after which a command that still runs is mentioned


class Refused(Exception):
    """The release cannot go on; the text says why, and what to do."""


def say(text: str) -> None:
    """One progress line."""
    print(f"== {text}", file=sys.stderr, flush=True)


def run(
    what: str, command: Sequence[str], cwd: Path, extra: Mapping[str, str] | None = None
) -> str:
    """Run a command of a release → its output; Refused, with the output, when it fails."""
    say(what)
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=str(cwd),
            env=_variables(extra or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        while _runs(process):
            say(f"  {what}: still at work ({time.monotonic() - started:.0f} s)")
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode != 0:
        shown = " ".join(command)
        raise Refused(f"{what} failed (exit {process.returncode}):\n    {shown}\n\n{text}")
    return text


def _variables(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would lead a Python program to modules of another place."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **extra}


def _runs(process: subprocess.Popen[bytes]) -> bool:
    """Whether the command still runs after the time of a heartbeat."""
    try:
        process.wait(HEARTBEAT)
    except subprocess.TimeoutExpired:
        return True
    return False


def git(cwd: Path, *arguments: str) -> str:
    """What a git command prints; Refused when it fails."""
    done = subprocess.run(["git", *arguments], cwd=str(cwd), capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"git {' '.join(arguments)} failed in {cwd}:\n{done.stderr.strip()}")
    return done.stdout

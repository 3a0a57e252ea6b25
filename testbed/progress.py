"""Progress lines on stderr, and commands whose output a human can follow there."""

from __future__ import annotations

import subprocess
import sys
from typing import Sequence


class MissingPrerequisite(RuntimeError):
    """The machine lacks a requirement of the server. The text names it and what to do."""


def say(text: str) -> None:
    """Print a progress line."""
    print(f"[testbed] {text}", file=sys.stderr, flush=True)


def run(command: Sequence[str], what: str) -> None:
    """Run a command, with its output on stderr. Raise MissingPrerequisite if it fails."""
    # the number, because sys.stderr may be a replacement that is no file
    status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2).returncode
    if status != 0:
        text = f"{what} failed (exit {status}); its output is above. The command was:"
        raise MissingPrerequisite(f"{text}\n    {' '.join(command)}")

"""``doctor``: finds the modules that cannot be imported.

Each import is tried in a process of its own: it may raise anything, and a module that was compiled
for another machine ends the process.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Sequence

_TRY = "import sys; sys.path[:] = {path!r}; import {modules}"
_LONGEST = 120  # seconds; the first import after an installation compiles many files


def failures(modules: Sequence[str]) -> dict[str, str]:
    """Names of modules → those that cannot be imported, each with its error as one line."""
    if not _outcome(_start(", ".join(modules))):
        return {}
    started = [(module, _start(module)) for module in modules]
    outcomes = [(module, _outcome(process)) for module, process in started]
    return {module: error for module, error in outcomes if error}


def _start(modules: str) -> subprocess.Popen[str]:
    code = _TRY.format(path=sys.path, modules=modules)
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _outcome(process: subprocess.Popen[str]) -> str:
    """Wait for an import → '' if it succeeded, otherwise its error as one line."""
    try:
        _, said = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"it did not end within {_LONGEST} seconds"
    if process.returncode < 0:
        return f"it ended the process with signal {-process.returncode}"
    if process.returncode:
        errors = [line for line in said.splitlines() if line and not line[0].isspace()]
        return errors[-1] if errors else f"it ended the process with status {process.returncode}"
    return ""

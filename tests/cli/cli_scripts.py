"""Run the command line and scripts in new interpreters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import tensorrtserver

ROOT = Path(str(tensorrtserver.__file__)).parents[1]


def _environment() -> dict[str, str]:
    """Return this process's variables without our settings, with our packages on PYTHONPATH."""
    dropped = ("TRITON_SHIM_", "PYTHONWARNINGS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths)}


def python(folder: Path, *arguments: str, **variables: str) -> Any:
    """Run ``python arguments`` in a folder, and return the finished process."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=str(folder),
        env={**_environment(), **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


def shim(folder: Path, *arguments: str, **variables: str) -> Any:
    """Run ``tritonclient-shim arguments``, and return the finished process."""
    return python(folder, "-m", "tritonclient_shim", *arguments, **variables)


def started(folder: Path, *arguments: str, stdout: int = subprocess.PIPE) -> Any:
    """Start ``tritonclient-shim arguments``, which Ctrl-C can reach."""
    # A background job of a shell ignores the signal. A new program begins without a handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "tritonclient_shim", *arguments],
            cwd=str(folder),
            env=_environment(),
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)

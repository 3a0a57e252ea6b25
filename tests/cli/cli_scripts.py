"""Runs the command line and scripts in interpreters of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tensorrtserver

ROOT = Path(str(tensorrtserver.__file__)).parents[1]


def python(folder: Path, *arguments: str, **variables: str) -> Any:
    """``python arguments`` in ``folder``, with nothing of ours in its environment."""
    dropped = ("TRITON_SHIM_", "PYTHONWARNINGS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=str(folder),
        env={**kept, "PYTHONPATH": os.pathsep.join(paths), **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


def shim(folder: Path, *arguments: str, **variables: str) -> Any:
    """``tritonclient-shim arguments``."""
    return python(folder, "-m", "tritonclient_shim", *arguments, **variables)

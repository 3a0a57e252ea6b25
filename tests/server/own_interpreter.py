"""Python text in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Sequence


def script(text: str, *arguments: str, paths: Sequence[str]) -> tuple[int, str, str]:
    """Run ``text``, which may import from ``paths``: its exit status, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "TRITON_SHIM_WARNINGS": "off",
        },
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, done.stdout, done.stderr

"""Children of a process with open contexts: both sides go on, however the children are had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tensorrtserver
from tests.reliability.amounts import profile, some
from tests.reliability.figures import Tried

ROOT = os.path.dirname(os.path.dirname(str(tensorrtserver.__file__)))
PROGRAM = Path(__file__).with_name("fork_program.py")
PROMISE = (
    "Children of a process with idle contexts use their own and the inherited ones, whatever way "
    "and thread they are started by, and so does their parent"
)
KINDS = {"http": (0, False), "grpc": (1, False), "stream": (1, True)}
FORKS = ("os.fork", "fork", "executor fork")
WAYS = (*FORKS, "forkserver", "spawn", "executor forkserver", "executor spawn")
THREADS = ("main", "other")
#: The others have children of the same kinds, and programs that start anew take their time.
TRIED = (*FORKS, "spawn") if profile() == "short" else WAYS


def surroundings(way: str) -> dict[str, str]:
    """The environment that docs/settings.md asks for."""
    support = {"GRPC_ENABLE_FORK_SUPPORT": "1"} if way in FORKS else {}
    if way not in FORKS and sys.version_info < (3, 10):
        support = {"GRPC_ENABLE_FORK_SUPPORT": "0"}
    return {**os.environ, "PYTHONPATH": ROOT, "TRITON_SHIM_WARNINGS": "off", **support}


@pytest.mark.parametrize("way", TRIED)
def test_children(way: str, triton: Any, tried: Tried) -> None:
    """Two generations of children, from the main and from another thread, are answered."""
    cells = [(kind, thread) for thread in THREADS for kind in KINDS]
    for kind, thread in some(cells, "ways of having children", WAYS.index(way)):
        protocol, streaming = KINDS[kind]
        arguments = [triton.url(protocol), str(protocol), str(streaming), way, thread]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(PROGRAM), *arguments],
            env=surroundings(way),
            stderr=subprocess.PIPE,
            text=True,
            timeout=180,
        )
        assert done.returncode == 3, (kind, thread, done.stderr)
        tried(PROMISE, 4, "children")

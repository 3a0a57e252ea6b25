"""Uncaught errors of shared memory: the user's line, one frame of ours, and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.cli_scripts import python

SCRIPT = """\
import ctypes
import numpy as np
import tensorrtserver.cuda_shared_memory as cuda
import tensorrtserver.shared_memory as shm
unknown = ctypes.c_void_p(5)
"""
#: Calls that fail, and what the traceback says.
CALLS = {
    "key": ("shm.create_shared_memory_region('r', '/a/b/c', 64)", "without further slashes"),
    "twice": (
        "h = shm.create_shared_memory_region('r', '/shim_tb', 8); "
        "[shm.destroy_shared_memory_region(h) for _ in range(2)]",
        "unable to unlink the shared memory region",
    ),
    "name": ("shm.create_shared_memory_region(5, '/r', 64)", "argument 1"),
    "handle": ("shm.set_shared_memory_region(unknown, [np.zeros(1)])", "handle 0x5 is unknown"),
    "array": ("shm.set_shared_memory_region(unknown, 5)", "a list/tuple of numpy arrays"),
    "no handle": ("shm.destroy_shared_memory_region(None)", "the shared memory handle is None"),
    "device": ("cuda.create_shared_memory_region('r', 64, 0)", "cuda-python is missing"),
    "cuda handle": ("cuda.destroy_shared_memory_region(unknown)", "handle 0x5 is unknown"),
    "cuda size": ("cuda.create_shared_memory_region('r', 'x', 0)", "argument 2"),
}
HIDE_CUDA = "import sys; sys.modules['cuda'] = None\n"


def frames_of_ours(shown: str) -> list[str]:
    """Return the lines of a traceback that name a file of this package."""
    lines = [line for line in shown.splitlines() if line.startswith('  File "')]
    return [line for line in lines if "/tensorrtserver/" in line or "/tritonclient_shim/" in line]


@pytest.mark.parametrize("name", CALLS)
def test_failed_calls(tmp_path: Path, name: str) -> None:
    """A failed call shows the line of the call, one frame of ours, and what was wrong."""
    call, reason = CALLS[name]
    (tmp_path / "old.py").write_text(f"{HIDE_CUDA}{SCRIPT}{call}\n")
    done = python(tmp_path, "old.py", TRITON_SHIM_WARNINGS="off")
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert 'old.py", line 7, in <module>' in done.stderr
    assert len(frames_of_ours(done.stderr)) == 1
    assert reason in done.stderr


def test_development_mode(tmp_path: Path) -> None:
    """Python's development mode shows all frames, and the first cause."""
    (tmp_path / "old.py").write_text(f"{SCRIPT}{CALLS['twice'][0]}\n")
    shown = python(tmp_path, "-X", "dev", "old.py", TRITON_SHIM_WARNINGS="off").stderr
    assert shown.count("Traceback") == 3
    assert len(frames_of_ours(shown)) > 3

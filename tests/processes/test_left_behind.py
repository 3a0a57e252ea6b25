"""``tests/left_behind.py``: whose objects in /dev/shm a run reports."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Iterator

import pytest

from tests import left_behind


@pytest.fixture
def other_run() -> Iterator[int]:
    """Yield the id of another process, as long as it lives."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid


def _object(prefix: str) -> Path:
    path = Path("/dev/shm", f"{prefix}-{uuid.uuid4().hex}")
    path.write_bytes(b"1")
    return path


def test_objects_of_another_run(other_run: int) -> None:
    """An object of a server of a live run is not reported; one of this run, or of none, is."""
    paths = [_object(f"testbed-{pid}") for pid in (other_run, os.getpid())] + [_object("region")]
    try:
        assert [left_behind.is_ours(path.name) for path in paths] == [False, True, True]
    finally:
        for path in paths:
            path.unlink()


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives an object to another user")
def test_objects_of_another_user() -> None:
    """An object of another user is not reported."""
    path = _object("region")
    try:
        os.chown(path, 65534, 65534)
        assert not left_behind.is_ours(path.name)
    finally:
        path.unlink()


def test_an_object_that_is_removed_meanwhile() -> None:
    """An object that is gone again is not reported."""
    assert not left_behind.is_ours(uuid.uuid4().hex)

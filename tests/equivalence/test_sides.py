"""Programs that do not end as they should do not hold the comparison."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.equivalence import sides

FORKS = """
import os, sys, time
child = os.fork()
if not child:
    time.sleep(600)
open(sys.argv[1], "w").write(str(child))
print("last words", flush=True)
time.sleep(float(sys.argv[2]))
os._exit(3)
"""


def gone(process: int) -> bool:
    """Has the process ended? Whoever inherited it may not have noticed yet."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.mark.parametrize(
    ("sleeps", "limit", "end"),
    [("0", 60, ("exit status 3", "last words\n")), ("600", 3, ("hangs", ""))],
)
def test_a_child_left_behind_ends(
    tmp_path: Path, sleeps: str, limit: float, end: tuple[str, str]
) -> None:
    """A forked child that keeps stdout open delays nothing, and does not outlive the program."""
    command = [sys.executable, "-c", FORKS, str(tmp_path / "child"), sleeps]
    start = time.monotonic()
    assert sides._end_of(command, dict(os.environ), limit) == end
    assert time.monotonic() - start < 30
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while not gone(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_signal_that_ended_it() -> None:
    """A program that a signal ends is told by that signal's name."""
    command = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGABRT)"]
    assert sides._end_of(command, dict(os.environ), 60)[0] == "SIGABRT"

"""Ctrl-C ends a command at once, without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.cli.cli_scripts import started

INTERRUPTED = 130


def interrupted(process: Any) -> tuple[str, str]:
    """Send SIGINT, and return stdout and stderr. Fail unless the process ends with status 130."""
    out = err = ""
    for _ in range(3):  # Python misses a signal that comes just before a system call blocks
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            out, err = process.communicate(timeout=20)
            break
    assert process.returncode == INTERRUPTED, err
    assert "Traceback" not in out + err
    return out, err


def test_scan(tmp_path: Path) -> None:
    """A scan ends with status 130."""
    os.mkfifo(tmp_path / "a.py")
    process = started(tmp_path, "scan", "a.py")
    with open(tmp_path / "a.py", "wb"):  # returns when the command reads the file
        interrupted(process)


def test_run(tmp_path: Path) -> None:
    """A script that does not catch the interruption ends. Its report is printed."""
    (tmp_path / "old.py").write_text(
        "from tensorrtserver.api import *\n"
        "import time\n"
        "ProtocolType.from_str('grpc')\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = started(tmp_path, "run", "old.py")
    assert process.stdout.readline() == "ready\n"
    _, err = interrupted(process)
    assert "TS011  tensorrtserver.api.ProtocolType.from_str  (1 call" in err

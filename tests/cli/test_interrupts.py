"""Ctrl-C ends each command at once, without a traceback. The results so far are printed."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_scripts import started
from tests.cli.scan_runs import CONTEXT, Scanner

INTERRUPTED = 130


def interrupted(process: Any) -> tuple[str, str]:
    """Send SIGINT, and return stdout and stderr. Fail unless the process ends with status 130."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, err
    assert "Traceback" not in out + err
    return out, err


def test_scan(tmp_path: Path) -> None:
    """The uses of the files read so far are printed, with the number of files."""
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    (tmp_path / "first" / "a.py").write_text(CONTEXT)
    os.mkfifo(tmp_path / "second" / "b.py")
    process = started(tmp_path, "scan", "first", "second")
    with open(tmp_path / "second" / "b.py", "wb"):  # returns when the command reads the file
        out, err = interrupted(process)
    assert "a.py:2:5: TS050" in out
    assert "interrupted: 1 of 2 files" in err


def test_migrate(scan: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results of the files so far are printed. The status is 130."""
    from tritonclient_shim.rewrite import files

    real = files.migrate

    def interrupted_at_b(path: str, *arguments: Any) -> Any:
        if path == "b.py":
            raise KeyboardInterrupt
        return real(path, *arguments)

    monkeypatch.setattr(files, "migrate", interrupted_at_b)
    scan.write("a.py", CONTEXT)
    scan.write("b.py", CONTEXT)
    capture = scan.captured("migrate", "a.py", "b.py")
    assert capture.status == INTERRUPTED
    assert "a.py:2:5: TS050" in capture.out
    assert "interrupted: 1 of 2 files" in capture.err


def test_doctor(tmp_path: Path) -> None:
    """The checks so far are printed."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"127.0.0.1:{silent.getsockname()[1]}"
        process = started(tmp_path, "doctor", "--url", url)
        silent.settimeout(60)
        connection, _ = silent.accept()
        with connection:
            out, _ = interrupted(process)
    assert out.startswith("Interrupted.\nInstallation\n")
    assert "tritonclient" in out


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

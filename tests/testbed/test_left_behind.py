"""A run of the suite leaves nothing, and says so when it does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run one test that passes."""
    (folder / "test_it.py").write_text(f"import subprocess\ndef test_it():\n    {body}\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.left_behind", "test_it.py"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert "1 passed" in done.stdout
    return done


def test_a_clean_run_passes(tmp_path: Path) -> None:
    """A run that leaves nothing but Python's own helper of shared memory succeeds."""
    tracker = "from multiprocessing import resource_tracker as r; r.ensure_running()"
    assert run(tmp_path, tracker).returncode == 0


def test_what_is_left_fails_the_run(tmp_path: Path) -> None:
    """An object and a process that are left are named, and the run fails."""
    name = "/dev/shm/" + uuid.uuid4().hex
    sleep = f"[{sys.executable!r}, '-c', 'import time; time.sleep(600)'], stdout=-3, stderr=-3"
    done = run(tmp_path, f"open({name!r}, 'w').close(); subprocess.Popen({sleep})")
    os.unlink(name)
    process = re.search(r"process (\d+): .*time\.sleep\(600\)", done.stdout)
    assert process, done.stdout
    os.kill(int(process[1]), signal.SIGKILL)
    assert (done.returncode, name in done.stdout) == (1, True)
    assert "ERROR left behind by the run" in done.stdout
    assert "1 passed, 1 error" in done.stdout

"""A pytest plugin that fails a run if it leaves shared memory or a process.

Every process of a run inherits a variable with the name of the run. An object in /dev/shm counts as
left when it is new, is this user's, and no process uses it. Servers of other users, and of other
runs, may run beside the tests.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

_VARIABLE = "TESTBED_RUN"
_PATIENCE = 5.0  # seconds for processes that are just ending
_MEMORY = "/dev/shm"
_OBJECT = re.compile(f"{_MEMORY}/([^/\n]+?)(?: \\(deleted\\))?$")
#: The objects of a testbed's server begin with its folder, which names the process of its run.
_SERVER = re.compile(r"testbed-(\d+)-")
_TRACKER = "multiprocessing.resource_tracker"  # Python ends it with the process that has it
_SECTION = "left behind by the run"


class _Run:
    """A run: its name, what was in /dev/shm before, and its session."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self._name = os.environ[_VARIABLE] = uuid.uuid4().hex
        self._before = set(os.listdir(_MEMORY))

    def left(self) -> list[str]:
        """Return what the run has left. Give its processes some seconds to end."""
        deadline = time.monotonic() + _PATIENCE
        while (left := [*self._processes(), *self._objects()]) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def _processes(self) -> list[str]:
        mark = f"{_VARIABLE}={self._name}".encode()
        others = set(map(int, filter(str.isdigit, os.listdir("/proc")))) - {os.getpid()}
        return [
            f"process {pid}: {_command(pid)}"
            for pid in sorted(others)
            if mark in _read(pid, "environ").split(b"\0") and _TRACKER not in _command(pid)
        ]

    def _objects(self) -> list[str]:
        new = set(os.listdir(_MEMORY)) - self._before
        new = {name for name in new if is_ours(name)}
        return [f"{_MEMORY}/{name}" for name in sorted(new - _in_use())] if new else []


def is_ours(name: str) -> bool:
    """True if an object is this user's, and of no process of another run that is still alive."""
    try:
        owner = os.stat(f"{_MEMORY}/{name}").st_uid
    except FileNotFoundError:  # removed just now
        return False
    server = _SERVER.match(name)
    starter = int(server[1]) if server else os.getpid()
    of_another_run = starter != os.getpid() and os.path.exists(f"/proc/{starter}")
    return owner == os.getuid() and not of_another_run


def _read(pid: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:  # ended, or another user's
        return b""


def _command(pid: int) -> str:
    return _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")


def _in_use() -> set[str]:
    """Return the names of the objects in /dev/shm that a process has open or mapped."""
    used = set()
    for folder in glob.glob("/proc/[0-9]*"):
        texts = [line.decode() for line in _read(int(folder[6:]), "maps").splitlines()]
        for link in glob.glob(f"{folder}/fd/*"):
            with contextlib.suppress(OSError):
                texts.append(os.readlink(link))
        used |= {result[1] for result in map(_OBJECT.search, texts) if result}
    return used


_runs: list[_Run] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Record what is present before the run, but not in a worker: its parent watches."""
    if not hasattr(session.config, "workerinput"):
        _runs.append(_Run(session))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name what is left, and count it as an error of the run."""
    for run in _runs:
        left = run.left()
        if not left:
            continue
        terminalreporter.section(_SECTION)
        for line in left:
            terminalreporter.write_line(line)
        where = (_SECTION, None, _SECTION)
        report = pytest.TestReport(_SECTION, where, {}, "failed", "\n".join(left), "teardown")
        terminalreporter.stats.setdefault("error", []).append(report)
        run.session.exitstatus = pytest.ExitCode.TESTS_FAILED

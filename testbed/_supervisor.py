"""The process between the launcher and its server; outlives neither.

Run as a script: ``_supervisor.py FOLDER SHM_PREFIXES TURN COMMAND...``. It starts the command in a
process group of its own, its output going to FOLDER/server.log, and prints the pid. When its stdin
has a byte or closes, when its parent is gone or when the server ends, it ends the whole group (the
byte ``k``: without asking the server to exit first) and removes FOLDER, the files in /dev/shm that
begin with one of the comma-separated SHM_PREFIXES (``{pid}`` stands for the pid of the server), and
the folders that the server made in /tmp, one of them within TURN seconds. It imports only the
standard library, so that any interpreter can run it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

POLL = 0.05
PARENT_CHECK = 0.5
GRACE = 10.0  # seconds; the server is told to exit within 2
MODEL_FOLDER = re.compile(r"/tmp/folder\w{6}(?=/)")
BACKEND_FOLDERS = "/tmp/python_env_*"
PR_SET_PDEATHSIG = 1
AT_ONCE = b"k"


def main(arguments: list[str]) -> int:
    """Run the server until it or its owner ends → the server's exit status."""
    folder, prefixes, turn, *command = arguments
    parent = os.getppid()
    server, remains = _start(folder, command, float(turn))
    try:
        order = _wait_for_end(server, parent)
        remains += _model_folders(server.pid)
        if order != AT_ONCE:
            _stop(server)
    finally:
        _kill_group(server.pid)
        server.wait()
        _clean(prefixes.replace("{pid}", str(server.pid)), [folder, *remains])
    return server.returncode


def _start(
    folder: str, command: list[str], turn: float
) -> tuple[subprocess.Popen[bytes], list[str]]:
    """Start the command → its process, and the folder of its Python backend if it made one.

    That folder has a random name in /tmp, and the backend removes it only when it ends in time. We
    know ours because servers of ours take turns (the lock is on /tmp itself and leaves nothing).
    """
    lock = os.open("/tmp", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = set(glob.glob(BACKEND_FOLDERS))
        with open(os.path.join(folder, "server.log"), "ab") as output:
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=_own_group,
            )
        print(server.pid, flush=True)
        return server, _new_folder(server, before, turn)
    finally:
        os.close(lock)


def _new_folder(server: subprocess.Popen[bytes], before: set[str], turn: float) -> list[str]:
    deadline = time.monotonic() + turn
    while time.monotonic() < deadline and server.poll() is None:
        new = [item for item in glob.glob(BACKEND_FOLDERS) if item not in before]
        if new:
            return new[:1]
        time.sleep(0.01)
    return []


def _own_group() -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_for_end(server: subprocess.Popen[bytes], parent: int) -> bytes:
    """Return when it is time to end, with what was read from stdin."""
    checked = time.monotonic()
    while server.poll() is None:
        readable, _, _ = select.select([sys.stdin], [], [], POLL)
        if readable:
            return os.read(sys.stdin.fileno(), 1)
        if time.monotonic() - checked > PARENT_CHECK:
            checked = time.monotonic()
            if os.getppid() != parent:
                break
    return b""


def _stop(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is not None:
        return
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):  # the caller kills the group
        server.wait(GRACE)


def _kill_group(group: int) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return
        if not _members(group):
            return
        time.sleep(0.01)


def _members(group: int) -> list[str]:
    """Return the /proc folders of the living processes of the group."""
    result = []
    for folder in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile
            state, _, member_of = _read(f"{folder}/stat").rsplit(")", 1)[1].split()[:3]
            if int(member_of) == group and state not in "ZX":
                result.append(folder)
    return result


def _model_folders(group: int) -> list[str]:
    """Return the folders in /tmp of models loaded from a request, as PyTriton loads its own."""
    arguments: list[str] = []
    for folder in _members(group):
        with contextlib.suppress(OSError):
            arguments += _read(f"{folder}/cmdline").split("\0")
    return sorted({result.group() for result in map(MODEL_FOLDER.match, arguments) if result})


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as handle:
        return handle.read()


def _clean(prefixes: str, folders: list[str]) -> None:
    for prefix in prefixes.split(","):
        for path in glob.glob(f"/dev/shm/{glob.escape(prefix)}*"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sys.exit(main(sys.argv[1:]))

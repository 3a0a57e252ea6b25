"""The process between the launcher and its server. It ends when the launcher or the server ends.

Run as a script: ``_supervisor.py FOLDER SHM_PREFIXES COMMAND...``. It starts the command in a
process group, with its output in FOLDER/server.log, and prints the pid. It ends the whole group if
its stdin has a byte or closes, if its parent has ended, or if the server ends. The byte ``k``
kills the server. Any other byte lets the server exit first.

Then it removes FOLDER, the files in /dev/shm that begin with one of the comma-separated
SHM_PREFIXES (``{pid}`` stands for the pid of the server), and the server's folders in /tmp. It
imports only the standard library, so that any interpreter can run it.
"""

from __future__ import annotations

import contextlib
import ctypes
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
GRACE = 10.0  # seconds; the server should exit within 2
MODEL_FOLDER = re.compile(r"/tmp/folder\w{6}(?=/)")
BACKEND_FOLDERS = "/tmp/python_env_*"  # a killed Python backend leaves an empty one
PR_SET_PDEATHSIG = 1
AT_ONCE = b"k"


def main(arguments: list[str]) -> int:
    """Run the server until it or its owner ends. Return the server's exit status."""
    folder, prefixes, *command = arguments
    parent, before = os.getppid(), set(glob.glob(BACKEND_FOLDERS))
    model_folders: list[str] = []
    with open(os.path.join(folder, "server.log"), "ab") as output:
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=_own_group,
        )
    print(server.pid, flush=True)
    try:
        order = _wait_for_end(server, parent)
        model_folders = _model_folders(server.pid)
        if order != AT_ONCE:
            _stop(server)
    finally:
        _kill_group(server.pid)
        server.wait()
        _clean(prefixes.replace("{pid}", str(server.pid)), [folder, *model_folders])
        for place in {*glob.glob(BACKEND_FOLDERS)} - before:
            with contextlib.suppress(OSError):  # not empty, or gone
                os.rmdir(place)
    return server.returncode


def _own_group() -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_for_end(server: subprocess.Popen[bytes], parent: int) -> bytes:
    """Wait until the server or its owner ends. Return the byte of stdin, if any."""
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
    """Return the folders in /tmp that Triton made for models loaded from a request."""
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

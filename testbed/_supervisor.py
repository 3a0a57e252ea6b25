"""The process between the launcher and its server; outlives neither.

Run as a script: ``_supervisor.py FOLDER SHM_PREFIX COMMAND...``. It starts the command in a
process group of its own, its output going to FOLDER/server.log, and prints the pid. When its stdin
has a byte or closes, when its parent is gone or when the server ends, it ends the whole group and
removes FOLDER and the files in /dev/shm that begin with SHM_PREFIX, in which ``{pid}`` stands for
the pid of the server. Only the standard library, so that any interpreter can run it.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import select
import shutil
import signal
import subprocess
import sys
import time

POLL = 0.05
PARENT_CHECK = 0.5
GRACE = 10.0  # seconds; the server is told to exit within 2
PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run the server until it or its owner ends → the server's exit status."""
    folder, prefix, *command = arguments
    parent = os.getppid()
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
        _wait_for_end(server, parent)
        _stop(server)
    finally:
        _kill_group(server.pid)
        server.wait()
        _clean(prefix.replace("{pid}", str(server.pid)), folder)
    return server.returncode


def _own_group() -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_for_end(server: subprocess.Popen[bytes], parent: int) -> None:
    checked = time.monotonic()
    while server.poll() is None:
        readable, _, _ = select.select([sys.stdin], [], [], POLL)
        if readable:
            return
        if time.monotonic() - checked > PARENT_CHECK:
            checked = time.monotonic()
            if os.getppid() != parent:
                return


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
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as handle:
                state, _, member_of = handle.read().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue  # ended meanwhile
        if int(member_of) == group and state not in "ZX":
            found.append(stat)
    return found


def _clean(prefix: str, folder: str) -> None:
    for path in glob.glob(f"/dev/shm/{glob.escape(prefix)}*"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sys.exit(main(sys.argv[1:]))

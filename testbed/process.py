"""A server process on loopback ports that ends with the process that started it.

The names of its folder and of its objects in /dev/shm have the pid of that process. So what
a killed process has left is removed at a later start.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Callable, Mapping, NamedTuple, Sequence, TypeVar

ATTEMPTS = 5  # for example, another process can take a free port before the server binds it
START_TIMEOUT = 180.0  # seconds
FOLDER = "TESTBED_FOLDER"  # the variable of a server's processes that names its folder
# The program that becomes the server. PR_SET_PDEATHSIG ends the server with its parent.
_DIES_WITH_PARENT = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
_BACKEND_FOLDERS = "/tmp/python_env_*"  # a killed Python backend leaves an empty one
_NO_SHARED_MEMORY = "Unable to initialize shared memory key"
_PASSING = (
    "Address already in use",
    "failed to start HTTP",
    "failed to start GRPC",
    # the Python backend's mutexes in shared memory, seen once on a very busy machine
    "boost::interprocess::lock_exception",
)
_PROTOCOLS = {0: "http", 1: "grpc", "http": "http", "grpc": "grpc"}
Running = TypeVar("Running", bound="RunningServer")


class ServerFailed(RuntimeError):
    """The server did not become ready. The text ends with its log."""


class PassingFailure(ServerFailed):
    """Another process took the port first, or the server failed by chance. Try again."""


class Launch(NamedTuple):
    """The command and the environment that start a server."""

    command: Sequence[str]
    variables: Mapping[str, str]
    marks: Sequence[str] = ()  # texts in the log of a ready server


class RunningServer:
    """A ready server. The end of the ``with`` block kills it, because a stop could take 10 s.

    ``http`` and ``grpc`` are addresses like ``127.0.0.1:8000``, ``pid`` is the server's.
    ``launch(folder, http_port, grpc_port)`` returns a Launch. The folder is removed when the
    server is killed, and objects in /dev/shm with the folder's name too. ``ports`` are
    the ports for HTTP and gRPC, by default free ports.
    """

    def __init__(
        self, launch: Callable[[str, int, int], Launch], ports: tuple[int, int] | None = None
    ) -> None:
        self._launch = launch
        self._start(ports)

    def _start(self, ports: tuple[int, int] | None) -> None:
        """Start the server and wait until it is ready. Try again after a passing failure."""
        for _ in range(ATTEMPTS - 1):
            with contextlib.suppress(PassingFailure):
                return self._start_once(*(ports or free_ports()))
        return self._start_once(*(ports or free_ports()))

    def _start_once(self, http_port: int, grpc_port: int) -> None:
        _remove_leftovers()
        self.http, self.grpc = f"127.0.0.1:{http_port}", f"127.0.0.1:{grpc_port}"
        self._folder = tempfile.mkdtemp(prefix=f"testbed-{os.getpid()}-")
        self._owner = os.getpid()
        self._backend_folders = set(glob.glob(_BACKEND_FOLDERS))
        self.log_path = os.path.join(self._folder, "server.log")
        try:
            launch = self._launch(self._folder, http_port, grpc_port)
        except BaseException:
            shutil.rmtree(self._folder)
            raise
        with open(self.log_path, "ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _DIES_WITH_PARENT, *launch.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**launch.variables, FOLDER: self._folder},
                start_new_session=True,  # Ctrl-C reaches this process, which kills the server
            )
        self._log = open(self.log_path, "rb")  # noqa: SIM115  (stays readable when removed)
        self.pid = self._process.pid
        atexit.register(self.kill)
        try:
            self._wait_until_ready(launch.marks)
        except BaseException:
            self.kill()
            raise

    @property
    def log(self) -> str:
        """Return the server's output so far, also after its end."""
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")

    @property
    def running(self) -> bool:
        """True if the server runs. If it has ended, remove what it has left."""
        if self._process.poll() is None:
            return True
        self.kill()
        return False

    @property
    def ended_by(self) -> int:
        """Return the signal that ended the server, or 0 if it runs or has exited."""
        return max(0, -(self._process.poll() or 0))

    def url(self, protocol: int | str) -> str:
        """Return the address for 0 or "http", 1 or "grpc", or a ProtocolType."""
        address: str = getattr(self, _PROTOCOLS[protocol])
        return address

    def start_again(self) -> None:
        """Kill the server if it runs, and start it again on its ports."""
        self.kill()
        http_port, grpc_port = (
            int(address.rpartition(":")[2]) for address in (self.http, self.grpc)
        )
        self._start((http_port, grpc_port))

    def kill(self) -> None:
        """End the server at once, as a crash would, and remove all its files."""
        if os.getpid() != self._owner or not os.path.exists(self._folder):
            return  # a forked child inherits this object and its atexit entry, not the server
        atexit.unregister(self.kill)
        _remove(self._folder)
        self._process.wait()
        for place in {*glob.glob(_BACKEND_FOLDERS)} - self._backend_folders:
            with contextlib.suppress(OSError):  # in use by another server, or gone
                os.rmdir(place)

    def __enter__(self: Running) -> Running:
        return self

    def __exit__(self, *unused: object) -> None:
        self.kill()

    def _wait_until_ready(self, marks: Sequence[str]) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not (all(mark in self.log for mark in marks) and self.answers()):
            if not self.running:
                raise _failure("The server ended while starting", self.log)
            if time.monotonic() > deadline:
                raise _failure(f"The server was not ready in {START_TIMEOUT:.0f} s", self.log)
            time.sleep(0.02)

    def answers(self) -> bool:
        """True if the server reports over HTTP that it is ready."""
        connection = http.client.HTTPConnection(self.http, timeout=5)
        try:
            connection.request("GET", "/v2/health/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def _remove(folder: str) -> None:
    """Kill the processes of a server, and remove its folder and its objects in shared memory."""
    deadline = time.monotonic() + 5
    while (processes := _processes_of(folder)) and time.monotonic() < deadline:
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    for path in glob.glob(f"/dev/shm/*{os.path.basename(folder)}*"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    shutil.rmtree(folder, ignore_errors=True)


def _processes_of(folder: str) -> list[int]:
    """Return the processes of a server, which all inherit the variable FOLDER."""
    result = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        with contextlib.suppress(OSError), open(path, "rb") as variables:
            if f"{FOLDER}={folder}".encode() in variables.read().split(b"\0"):
                result.append(int(path.split("/")[2]))
    return result


def _remove_leftovers() -> None:
    """Remove what servers have left whose owner was killed."""
    for folder in glob.glob(f"{tempfile.gettempdir()}/testbed-*-*"):
        owner = re.search(r"testbed-(\d+)-", folder)
        if owner and not os.path.exists(f"/proc/{owner[1]}"):
            _remove(folder)


def free_ports() -> tuple[int, int]:
    """Return two loopback ports that nobody listens on."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def _failure(text: str, log: str) -> ServerFailed:
    kind = PassingFailure if any(passing in log for passing in _PASSING) else ServerFailed
    if _NO_SHARED_MEMORY in log:
        text += (
            ": /dev/shm is full. It needs 1 MiB there for every model instance. Enlarge it: "
            "docker run --shm-size=1g, or mount -o remount,size=1g /dev/shm"
        )
    return kind(f"{text}. Its log:\n{log}")

"""A server process on loopback ports that ends with the process that started it."""

from __future__ import annotations

import atexit
import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Mapping, NamedTuple, Sequence, TypeVar

ATTEMPTS = 5  # for example, another process can take a free port before the server binds it
START_TIMEOUT = 180.0  # seconds
STOP_TIMEOUT = 30.0  # seconds; the supervisor needs less
_SUPERVISOR = str(Path(__file__).with_name("_supervisor.py"))
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
    shm_prefixes: str  # of its objects in /dev/shm, comma-separated; {pid} is the server's
    marks: Sequence[str] = ()  # texts in the log of a ready server


class RunningServer:
    """A ready server under a supervisor. The end of the ``with`` block kills it.

    A stop could take 10 s. ``http`` and ``grpc`` are addresses like ``127.0.0.1:8000``.
    ``launch(folder, http_port, grpc_port)`` returns a Launch. The folder is removed when the
    server ends. ``ports`` are the ports for HTTP and gRPC, by default free ports.
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
        self.http, self.grpc = f"127.0.0.1:{http_port}", f"127.0.0.1:{grpc_port}"
        folder = tempfile.mkdtemp(prefix="testbed-", dir=_temporary_folder())
        try:
            launch = self._launch(folder, http_port, grpc_port)
            self._supervise(folder, launch)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            self._wait_until_ready(launch.marks)
        except BaseException:
            self.kill()
            raise

    def _supervise(self, folder: str, launch: Launch) -> None:
        self.log_path = os.path.join(folder, "server.log")  # removed when the server ends
        self._log = open(self.log_path, "w+b")  # noqa: SIM115  (stays readable when removed)
        self._owner = os.getpid()
        supervisor = [sys.executable, "-I", "-S", _SUPERVISOR, folder, launch.shm_prefixes]
        self._supervisor = subprocess.Popen(
            [*supervisor, *launch.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(launch.variables),
            start_new_session=True,  # Ctrl-C reaches this process, which stops the server
        )
        atexit.register(self.kill)
        assert self._supervisor.stdout is not None
        with self._supervisor.stdout as output:
            self.pid = int(output.readline() or 0)  # of the server itself

    @property
    def log(self) -> str:
        """Return the server's output so far, also after its end."""
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")

    @property
    def running(self) -> bool:
        """True if the server runs, or the supervisor is still removing its files."""
        return self._supervisor.poll() is None

    @property
    def ended_by(self) -> int:
        """Return the signal that ended the server, or 0 if it runs or has exited."""
        status = self._supervisor.poll() or 0
        return 256 - status if status > 128 else 0

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

    def stop(self) -> None:
        """Let the server exit and remove all its files. Do nothing if it has ended."""
        self._end(b".")

    def kill(self) -> None:
        """End the server at once, as a crash would, and remove all its files."""
        self._end(b"k")

    def __enter__(self: Running) -> Running:
        return self

    def __exit__(self, *unused: object) -> None:
        self.kill()

    def _end(self, order: bytes) -> None:
        if os.getpid() != self._owner:
            return  # a forked child inherits this object and its atexit entry, not the server
        atexit.unregister(self.kill)
        assert self._supervisor.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # the server has ended
            self._supervisor.stdin.write(order)  # a forked child may keep the pipe open
            self._supervisor.stdin.close()
        self._supervisor.wait(STOP_TIMEOUT)

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


def _temporary_folder() -> str:
    """Return the usual folder, or /tmp if its path has a space.

    The Python backend cannot load from a path with a space.
    """
    usual = tempfile.gettempdir()
    return "/tmp" if " " in usual else usual


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

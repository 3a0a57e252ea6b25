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
from typing import Callable, Mapping, Sequence, TypeVar

ATTEMPTS = 5  # for example, a port that was free can be taken before the server binds it
START_TIMEOUT = 180.0  # seconds
STOP_TIMEOUT = 30.0  # seconds; the supervisor needs less
_SUPERVISOR = str(Path(__file__).with_name("_supervisor.py"))
_NO_SHARED_MEMORY = "Unable to initialize shared memory key"
_PASSING = (
    "Address already in use",
    "failed to start HTTP",
    "failed to start GRPC",
    # the Python backend's mutexes in shared memory, seen once on a machine with far too much to do
    "boost::interprocess::lock_exception",
)
_PROTOCOLS = {0: "http", 1: "grpc", "http": "http", "grpc": "grpc"}
Result = TypeVar("Result")
Running = TypeVar("Running", bound="RunningServer")


class ServerFailed(RuntimeError):
    """The server did not become ready; the text ends with its log."""


class PassingFailure(ServerFailed):
    """Somebody else took the port first, or the server tripped; another attempt will do."""


class Process:
    """A server under a supervisor, with a folder of its own that is removed with it.

    ``turn`` is how long, in seconds, other servers wait to start until this one's Python backend,
    if it starts one, has made its folder in /tmp.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        folder: str,
        shm_prefixes: str,
        turn: float = 1.0,
    ) -> None:
        self.log_path = os.path.join(folder, "server.log")
        self._log = open(self.log_path, "w+b")  # noqa: SIM115  (stays readable when removed)
        self._owner = os.getpid()
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", _SUPERVISOR, folder, shm_prefixes, str(turn), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(variables),
            start_new_session=True,  # Ctrl-C reaches us only, and we stop the server
        )
        atexit.register(self.kill)
        assert self._supervisor.stdout is not None
        with self._supervisor.stdout as answer:
            self.pid = int(answer.readline() or 0)

    @property
    def log(self) -> str:
        """Return what the server has written so far; still there when the server is gone."""
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")

    @property
    def running(self) -> bool:
        """True if the server is there, or its remains are still being removed."""
        return self._supervisor.poll() is None

    @property
    def ended_by(self) -> int:
        """Return the signal that has ended the server; 0 for one that is there, or has exited."""
        status = self._supervisor.poll() or 0
        return 256 - status if status > 128 else 0

    def stop(self) -> None:
        """End the server in an orderly way and remove everything it left; harmless when ended."""
        self._end(b".")

    def kill(self) -> None:
        """End the server at once, as a crash would, and remove everything it left."""
        self._end(b"k")

    def _end(self, order: bytes) -> None:
        if os.getpid() != self._owner:
            return  # a forked child inherits this object and its atexit entry, not the server
        atexit.unregister(self.kill)
        assert self._supervisor.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # ended, or ended before
            self._supervisor.stdin.write(order)  # closing is not enough: a forked child may hold it
            self._supervisor.stdin.close()
        self._supervisor.wait(STOP_TIMEOUT)

    def wait_until_ready(self, http_port: int, marks: Sequence[str]) -> None:
        """Return when the log has all ``marks`` and the HTTP port answers; kill it otherwise."""
        try:
            deadline = time.monotonic() + START_TIMEOUT
            while not self._is_ready(http_port, marks):
                if not self.running:
                    raise _failure("The server ended while starting", self.log)
                if time.monotonic() > deadline:
                    raise _failure(f"The server was not ready in {START_TIMEOUT:.0f} s", self.log)
                time.sleep(0.02)
        except BaseException:
            self.kill()
            raise

    def _is_ready(self, http_port: int, marks: Sequence[str]) -> bool:
        log = self.log
        return all(mark in log for mark in marks) and _answers(http_port)


class RunningServer:
    """What every kind of server offers; a context manager that kills it: a stop can take 10 s.

    ``http`` and ``grpc`` are addresses like ``127.0.0.1:8000``.
    """

    def __init__(self, process: Process, http_port: int, grpc_port: int) -> None:
        self._process = process
        self.http = f"127.0.0.1:{http_port}"
        self.grpc = f"127.0.0.1:{grpc_port}"

    @property
    def pid(self) -> int:
        """Return the process id of the server itself."""
        return self._process.pid

    @property
    def log_path(self) -> str:
        """Return the file with the server's output; it is gone after ``stop``."""
        return self._process.log_path

    @property
    def log(self) -> str:
        """Return the server's output so far, also after ``stop``."""
        return self._process.log

    @property
    def running(self) -> bool:
        """True if the server is there."""
        return self._process.running

    @property
    def ended_by(self) -> int:
        """Return the signal that has ended the server; 0 for one that is there, or has exited."""
        return self._process.ended_by

    def url(self, protocol: int | str) -> str:
        """0 or "http", 1 or "grpc", or a ProtocolType → the address."""
        address: str = getattr(self, _PROTOCOLS[protocol])
        return address

    def stop(self) -> None:
        """End the server in an orderly way and remove everything it left; harmless twice."""
        self._process.stop()

    def kill(self) -> None:
        """End the server at once, as a crash would, and remove everything it left."""
        self._process.kill()

    def __enter__(self: Running) -> Running:
        return self

    def __exit__(self, *unused: object) -> None:
        self.kill()


def with_free_ports(
    start: Callable[[str, int, int], Result], ports: tuple[int, int] | None = None
) -> Result:
    """Call ``start(folder, http_port, grpc_port)``, again after a passing failure.

    The ports are free ones, unless they are given.
    """
    for _ in range(ATTEMPTS - 1):
        with contextlib.suppress(PassingFailure):
            return _once(start, ports)
    return _once(start, ports)


def _once(start: Callable[[str, int, int], Result], ports: tuple[int, int] | None = None) -> Result:
    folder = tempfile.mkdtemp(prefix="testbed-", dir=_temporary_folder())
    try:
        return start(folder, *(ports or free_ports()))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _temporary_folder() -> str:
    """Return the usual folder, or /tmp: the Python backend cannot load from a path with a space."""
    usual = tempfile.gettempdir()
    return "/tmp" if " " in usual else usual


def free_ports() -> tuple[int, int]:
    """Two loopback ports that nobody listens on."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def _failure(what: str, log: str) -> ServerFailed:
    kind = PassingFailure if any(text in log for text in _PASSING) else ServerFailed
    return kind(f"{what}{_reason(log)}. Its log:\n{log}")


def _reason(log: str) -> str:
    if _NO_SHARED_MEMORY not in log:
        return ""
    return (
        ": /dev/shm is full, and it needs 1 MiB there for every model instance. Give it more: "
        "docker run --shm-size=1g, or mount -o remount,size=1g /dev/shm"
    )


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/v2/health/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()

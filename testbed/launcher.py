"""Start and stop a genuine Triton server on free loopback ports."""

from __future__ import annotations

import atexit
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple, Union

from testbed import environment, repository as standard
from testbed.environment import Environment

ATTEMPTS = 5  # a port that was free can be taken before the server binds it
START_TIMEOUT = 180.0
STOP_TIMEOUT = 20.0
_SUPERVISOR = str(Path(__file__).with_name("_supervisor.py"))
_PORT_TAKEN = ("Address already in use", "failed to start", "bind")
_STARTED = ("Started GRPCInferenceService at", "Started HTTPService at")
_PROTOCOLS = {0: "http", 1: "grpc", "http": "http", "grpc": "grpc"}


class ServerFailed(RuntimeError):
    """The server did not become ready; the text ends with its log."""


class _PortTaken(ServerFailed):
    """Somebody else took the port first."""


class Server:
    """A server process with a supervisor that ends it when this process ends."""

    def __init__(
        self, command: Sequence[str], variables: Dict[str, str], folder: str, shm_prefix: str
    ) -> None:
        handle, self.log_path = tempfile.mkstemp(prefix="tritonserver-", suffix=".log")
        os.close(handle)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", _SUPERVISOR, self.log_path, shm_prefix, folder, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=variables,
            start_new_session=True,
        )
        atexit.register(self.stop)
        assert self._process.stdout is not None
        self.pid = int(self._process.stdout.readline() or 0)

    @property
    def log(self) -> str:
        """What the server has written so far."""
        try:
            return Path(self.log_path).read_text(errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def running(self) -> bool:
        """Whether the server process is alive."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the server in an orderly way and remove everything it left; harmless when ended."""
        atexit.unregister(self.stop)
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT)
        finally:
            if self._process.stdout is not None:
                self._process.stdout.close()
            Path(self.log_path).unlink() if os.path.exists(self.log_path) else None

    def kill(self) -> None:
        """End the server at once, as a crash would, and remove everything it left."""
        if self.running and self.pid:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.stop()


class TritonServer:
    """A running ``tritonserver``; use ``start``. It is a context manager that stops it.

    ``http`` and ``grpc`` are addresses like ``127.0.0.1:8000``; ``pid`` is the server's process.
    """

    def __init__(self, server: Server, http_port: int, grpc_port: int) -> None:
        self._server = server
        self.http = f"127.0.0.1:{http_port}"
        self.grpc = f"127.0.0.1:{grpc_port}"

    @classmethod
    def start(
        cls,
        models: Optional[Sequence[str]] = None,
        repository: Union[str, "os.PathLike[str]", None] = None,
        model_control_mode: str = "explicit",
        extra_args: Sequence[str] = (),
        server_id: Optional[str] = None,
    ) -> "TritonServer":
        """Start a server and wait until it is ready.

        ``models`` are loaded at start (None: every standard model but ``spare`` and ``broken``,
        or everything in ``repository``). The standard repository always holds all models under
        explicit control; in the other control modes, which load what they find, it holds only
        ``models``. Raises MissingPrerequisite or ServerFailed.
        """
        prepared = environment.prepare()
        options = [f"--model-control-mode={model_control_mode}", *extra_args]
        options += [f"--id={server_id}"] if server_id is not None else []
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return cls._start(prepared, models, repository, model_control_mode, options)
            except _PortTaken:
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    @classmethod
    def _start(
        cls,
        prepared: Environment,
        models: Optional[Sequence[str]],
        repository: Union[str, "os.PathLike[str]", None],
        mode: str,
        options: Sequence[str],
    ) -> "TritonServer":
        folder = tempfile.mkdtemp(prefix="testbed-")
        explicit = mode == "explicit"
        if repository is None:
            loaded = list(standard.LOADED_AT_START if models is None else models)
            standard.write(Path(folder), None if explicit else loaded)
        else:
            loaded = ["*"] if models is None else list(models)
        ports = free_ports(2)
        prefix = f"triton_python_backend_shm_region_{uuid.uuid4().hex}_"
        command = [prepared.server, f"--model-repository={repository or folder}"]
        command += _fixed_options(prepared, ports, prefix)
        command += [f"--load-model={name}" for name in loaded] if explicit else []
        server = Server([*command, *options], prepared.variables(), folder, prefix)
        try:
            _wait_until_ready(server, ports)
        except BaseException:
            server.kill()
            raise
        return cls(server, *ports)

    @property
    def pid(self) -> int:
        """The process id of the server itself."""
        return self._server.pid

    @property
    def log_path(self) -> str:
        """The file with the server's output; it is gone after ``stop``."""
        return self._server.log_path

    @property
    def log(self) -> str:
        """The server's output so far."""
        return self._server.log

    def url(self, protocol: Union[int, str]) -> str:
        """0 or "http", 1 or "grpc", or a ProtocolType → the address."""
        address: str = getattr(self, _PROTOCOLS[protocol])
        return address

    def stop(self) -> None:
        """End the server in an orderly way and remove everything it left; harmless twice."""
        self._server.stop()

    def kill(self) -> None:
        """End the server at once, as a crash would, and remove everything it left."""
        self._server.kill()

    def __enter__(self) -> "TritonServer":
        return self

    def __exit__(self, *unused: object) -> None:
        self.stop()


def free_ports(count: int) -> Tuple[int, ...]:
    """``count`` different loopback ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return tuple(one.getsockname()[1] for one in sockets)
    finally:
        for one in sockets:
            one.close()


def _fixed_options(prepared: Environment, ports: Sequence[int], shm_prefix: str) -> List[str]:
    return [
        f"--backend-directory={prepared.backends}",
        f"--backend-config=python,shm-region-prefix-name={shm_prefix}",
        "--http-address=127.0.0.1",
        f"--http-port={ports[0]}",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={ports[1]}",
        "--allow-metrics=false",
        "--exit-timeout-secs=2",
        "--disable-auto-complete-config",  # completing starts every model's process twice
    ]


def _wait_until_ready(server: Server, ports: Sequence[int]) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        log = server.log
        if all(line in log for line in _STARTED) and _answers(ports[0]):
            return
        if not server.running:
            taken = any(text in log for text in _PORT_TAKEN)
            kind = _PortTaken if taken else ServerFailed
            raise kind(f"The server ended while starting. Its log:\n{server.log}")
        time.sleep(0.02)
    raise ServerFailed(f"The server was not ready in {START_TIMEOUT:.0f} s. Its log:\n{server.log}")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/v2/health/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()

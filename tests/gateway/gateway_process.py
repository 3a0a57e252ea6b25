"""A gateway in a process of its own, and HTTP and gRPC calls to it."""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple

import grpc
from google.protobuf import text_format

import tritonclient_shim
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1
from tritonclient_shim.protos import request_status_pb2

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "tritonclient_shim")
#: The command runs the package that the tests import, installed or of the checkout.
SURROUNDINGS: dict[str, Any] = {
    "env": {**os.environ, "PYTHONPATH": str(Path(tritonclient_shim.__file__).parents[1])},
    "cwd": "/",
}
#: Seconds that a busy machine may need at most.
PATIENCE = 30.0
ANY_PORT = ("--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m tritonclient_shim`` to its end."""
    options: Any = {"capture_output": True, "text": True, "timeout": 60, "check": False}
    return subprocess.run([*COMMAND, *arguments], **options, **SURROUNDINGS)


class Answer(NamedTuple):
    """An HTTP answer; ``status`` is the message in NV-Status, None without that header."""

    code: int
    headers: Any
    body: bytes
    status: Any


class Gateway:
    """A running ``tritonclient-shim gateway``. It logs to ``stderr``, by default to a file."""

    def __init__(self, *arguments: str, stderr: int | None = None) -> None:
        # to append, because the gateway shares the position with our reads
        self.log = tempfile.TemporaryFile("a+")  # noqa: SIM115 (closed in stop)
        options = (*ANY_PORT, "--start-line", "json", "--drain", "0", *arguments)
        self.process = subprocess.Popen(
            [*COMMAND, "gateway", *options],
            stdout=subprocess.PIPE,
            stderr=self.log if stderr is None else stderr,
            text=True,
            **SURROUNDINGS,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the gateway did not start:\n{self.log_text()}"
        bound = json.loads(line)
        self.http: str = bound["http"]
        self.grpc: str = bound["grpc"]
        self.metrics: str = bound.get("metrics", "")
        self._client = Client(self.grpc)

    def log_text(self) -> str:
        """Return the text that the gateway has written to stderr."""
        self.log.seek(0)
        return self.log.read()

    def log_lines(self, count: int) -> list[str]:
        """Return the lines of the log, once there are as many. It is written by a thread."""
        until(lambda: self.log_text().count("\n") >= count)
        return self.log_text().splitlines()

    def figure(self, name: str) -> int:
        """Return a number of ``/proc`` about the process, such as ``Threads``."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Stop the gateway, and return its exit status."""
        self._client.channel.close()
        self.terminate()
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.log.close()

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send an HTTP request on a new connection."""
        return ask(self.http, method, path, body, headers)

    def get(self, path: str, **headers: str) -> Answer:
        """Send GET."""
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: bytes = b"", **headers: str) -> Answer:
        """Send POST."""
        return self.ask("POST", path, body, headers)

    def infer(self, path: str, header: str, body: bytes) -> Answer:
        """Send POST /api/infer/<path> with NV-InferRequest."""
        return infer(self.http, path, header, body)

    def wait_until_unloaded(self, model: str) -> None:
        """Wait for the end of an unload. Until then, Triton is not ready."""
        while b"MODEL_UNLOADING" in self.get(f"/api/status/{model}").body:
            time.sleep(0.05)

    def call(self, rpc: str, request: Any, metadata: Mapping[str, str] | None = None) -> Any:
        """Call a unary rpc of v1's service. Raise RpcError if its gRPC status is not OK."""
        return self._client.call(rpc, request, metadata)

    def stream(self, requests: Any) -> Any:
        """Call StreamInfer."""
        return self._client.method("StreamInfer", True)(iter(requests), timeout=120)

    def talk(self) -> Talk:
        """Open a StreamInfer that stays open."""
        return self._client.talk()


StartGateway = Callable[..., Gateway]


def ask(
    address: str, verb: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> Answer:
    """Send an HTTP request on a new connection."""
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.request(verb, path, body, headers or {})
        return read_answer(connection)
    finally:
        connection.close()


def infer(address: str, path: str, header: str, body: bytes) -> Answer:
    """Send one inference over HTTP."""
    return ask(address, "POST", f"/api/infer/{path}", body, {"NV-InferRequest": header})


def read_answer(connection: http.client.HTTPConnection) -> Answer:
    """Return the next answer on a connection."""
    response = connection.getresponse()
    text = response.getheader("NV-Status")
    status = None
    if text is not None:
        status = text_format.Parse(text, request_status_pb2.RequestStatus())
    return Answer(response.status, response.headers, response.read(), status)


def code_of(status: Any) -> str:
    """Return the name of a status's code."""
    return str(request_status_pb2.RequestStatusCode.Name(status.code))


class Talk:
    """A call that stays open: the test chooses when it sends requests."""

    def __init__(self, invoke: Any, metadata: Any = ()) -> None:
        self._requests: queue.Queue[Any] = queue.Queue()
        self.call: Any = invoke(iter(self._requests.get, None), metadata=metadata)

    def send(self, *requests: Any) -> None:
        """Send requests."""
        for request in requests:
            self._requests.put(request)

    def ask(self, *requests: Any) -> list[Any]:
        """Send requests, and return the response of each."""
        self.send(*requests)
        return [next(self.call) for _ in requests]

    def end(self) -> list[Any]:
        """End the requests, and return the remaining responses."""
        self._requests.put(None)
        return list(self.call)

    def cancel(self) -> None:
        """Cancel the call."""
        self.call.cancel()
        self._requests.put(None)


class Client:
    """A gRPC client with a connection of its own."""

    def __init__(self, address: str, credentials: Any = None, **options: int) -> None:
        rows = [(f"grpc.{name}", value) for name, value in options.items()]
        rows.append(("grpc.use_local_subchannel_pool", 1))
        self.channel = (
            grpc.insecure_channel(address, rows)
            if credentials is None
            else grpc.secure_channel(address, credentials, rows)
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *raised: object) -> None:
        self.channel.close()

    def method(self, rpc: str, streaming: bool = False) -> Any:
        """Return the function that calls an rpc of v1's service.

        With ``streaming`` it takes an iterator of requests. The bytes of both forms are equal.
        """
        row = {**v1.RPCS, **v1.RETIRED_RPCS}[rpc]
        form = self.channel.stream_stream if streaming else self.channel.unary_unary
        return form(f"/{v1.SERVICE}/{rpc}", row.request.SerializeToString, row.response.FromString)

    def call(self, rpc: str, request: Any, metadata: Mapping[str, str] | None = None) -> Any:
        """Call a unary rpc of v1's service. Raise RpcError if its gRPC status is not OK."""
        pairs = tuple((metadata or {}).items())
        return self.method(rpc)(request, timeout=60, metadata=pairs)

    def code(self, request: Any) -> str:
        """Return v1's code of an inference, or the status of gRPC."""
        try:
            return code_of(self.call("Infer", request).request_status)
        except grpc.RpcError as error:
            return str(error.code().name)

    def talk(self, rpc: str = "StreamInfer", metadata: Any = ()) -> Talk:
        """Open a call that stays open."""
        return Talk(self.method(rpc, True), metadata)


def until(true: Callable[[], bool]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)

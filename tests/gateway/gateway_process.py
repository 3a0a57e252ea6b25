"""A gateway in a process of its own, and raw HTTP and gRPC calls to it."""

from __future__ import annotations

import http.client
import json
import os
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
#: The command is the one that the tests import, installed or of the checkout.
SURROUNDINGS: dict[str, Any] = {
    "env": {**os.environ, "PYTHONPATH": str(Path(tritonclient_shim.__file__).parents[1])},
    "cwd": "/",
}
_ANY_PORT = ("--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--start-line", "json")


class Answer(NamedTuple):
    """An HTTP answer; ``status`` is the message in NV-Status, None without that header."""

    code: int
    headers: Any
    body: bytes
    status: Any


class Gateway:
    """A running ``tritonclient-shim gateway``."""

    def __init__(self, *arguments: str) -> None:
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed in stop)
        self.process = subprocess.Popen(
            [*COMMAND, "gateway", *_ANY_PORT, "--drain", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            **SURROUNDINGS,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the gateway did not start:\n{self.said()}"
        bound = json.loads(line)
        self.http: str = bound["http"]
        self.grpc: str = bound["grpc"]
        self.metrics: str = bound.get("metrics", "")
        self._channel = grpc.insecure_channel(self.grpc)

    def said(self) -> str:
        """What it has written on stderr."""
        self.log.seek(0)
        return self.log.read()

    def terminate(self) -> None:
        """Ask it to stop."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Stop it → its exit status."""
        self._channel.close()
        self.terminate()
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.log.close()

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One HTTP request on a connection of its own."""
        connection = http.client.HTTPConnection(self.http, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            return read_answer(connection)
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        """GET."""
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: bytes = b"", **headers: str) -> Answer:
        """POST."""
        return self.ask("POST", path, body, headers)

    def infer(self, path: str, header: str, body: bytes) -> Answer:
        """POST /api/infer/<path> with NV-InferRequest."""
        return self.ask("POST", f"/api/infer/{path}", body, {"NV-InferRequest": header})

    def wait_until_unloaded(self, model: str) -> None:
        """While a model is being unloaded, Triton is not ready."""
        while b"MODEL_UNLOADING" in self.get(f"/api/status/{model}").body:
            time.sleep(0.05)

    def call(self, rpc: str, request: Any, metadata: Mapping[str, str] | None = None) -> Any:
        """One unary rpc of v1's service; its gRPC status must be OK."""
        row = {**v1.RPCS, **v1.RETIRED_RPCS}[rpc]
        invoke = self._channel.unary_unary(
            f"/{v1.SERVICE}/{rpc}", row.request.SerializeToString, row.response.FromString
        )
        return invoke(request, timeout=60, metadata=tuple((metadata or {}).items()))

    def stream(self, requests: Any) -> Any:
        """StreamInfer."""
        row = v1.RPCS["StreamInfer"]
        invoke = self._channel.stream_stream(
            f"/{v1.SERVICE}/StreamInfer", row.request.SerializeToString, row.response.FromString
        )
        return invoke(iter(requests), timeout=120)


StartGateway = Callable[..., Gateway]


def read_answer(connection: http.client.HTTPConnection) -> Answer:
    """The answer that comes on a connection."""
    response = connection.getresponse()
    text = response.getheader("NV-Status")
    status = None
    if text is not None:
        status = text_format.Parse(text, request_status_pb2.RequestStatus())
    return Answer(response.status, response.headers, response.read(), status)


def code_of(status: Any) -> str:
    """The name of a status's code."""
    return str(request_status_pb2.RequestStatusCode.Name(status.code))

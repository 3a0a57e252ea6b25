"""A server of KServe v2 over HTTP whose every answer a test decides."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Iterator, NamedTuple


class ReceivedRequest(NamedTuple):
    """A request that has arrived completely."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def is_inference(self) -> bool:
        """True if the request asks for an inference."""
        return self.path.endswith("/infer")

    @property
    def is_configuration(self) -> bool:
        """True if the request asks for the configuration of a model."""
        return self.path.endswith("/config")

    @property
    def header(self) -> dict[str, Any]:
        """Return the JSON header of an inference request."""
        length = int(self.headers.get("Inference-Header-Content-Length", len(self.body)))
        header: dict[str, Any] = json.loads(self.body[:length])
        return header

    @property
    def wants_classes(self) -> int:
        """Return the number of classes that an inference request asks for; 0 for tensors."""
        outputs = self.header.get("outputs", [])
        return max((output["parameters"].get("classification", 0) for output in outputs), default=0)


class ScriptedReply(NamedTuple):
    """A reply of the server."""

    body: bytes
    status: int = 200
    header_length: int | None = None


def json_reply(value: Any, status: int = 200) -> ScriptedReply:
    """Return a reply with a JSON value."""
    return ScriptedReply(json.dumps(value).encode(), status)


def refusal(text: str, status: int = 400) -> ScriptedReply:
    """Return the refusal of a v2 server."""
    return json_reply({"error": text}, status)


def tensor_reply(
    name: str,
    datatype: str,
    shape: list[int],
    data: bytes,
    version: str = "1",
    request_id: str = "",
) -> ScriptedReply:
    """Return the reply to an inference with one output."""
    parameters = {"binary_data_size": len(data)}
    output = {"name": name, "datatype": datatype, "shape": shape, "parameters": parameters}
    content = {"model_name": "m", "model_version": version, "outputs": [output]}
    if request_id:
        content = {"id": request_id, **content}
    header = json.dumps(content).encode()
    return ScriptedReply(header + data, 200, len(header))


def configuration(datatype: str, dims: list[int], max_batch_size: int = 0) -> dict[str, Any]:
    """Return the configuration of model ``m`` with an input X (INT32) and an output Y."""
    return {
        "name": "m",
        "platform": "onnxruntime_onnx",
        "max_batch_size": max_batch_size,
        "input": [{"name": "X", "data_type": "TYPE_INT32", "dims": [1]}],
        "output": [{"name": "Y", "data_type": f"TYPE_{datatype}", "dims": dims}],
    }


class ScriptedTriton:
    """A server whose replies come from ``script``; it records its requests.

    The script returns None for a request that is never answered.
    """

    def __init__(self, script: Callable[[ReceivedRequest], ScriptedReply | None]) -> None:
        self.script = script
        self.requests: list[ReceivedRequest] = []
        self.url = ""
        self.ends = threading.Event()

    @property
    def inferences(self) -> list[ReceivedRequest]:
        """Return the requests for an inference."""
        return [request for request in self.requests if request.is_inference]

    @property
    def configurations(self) -> list[ReceivedRequest]:
        """Return the requests for a configuration."""
        return [request for request in self.requests if request.is_configuration]


@contextmanager
def scripted_triton(
    script: Callable[[ReceivedRequest], ScriptedReply | None],
) -> Iterator[ScriptedTriton]:
    """Yield a server on a free loopback port."""
    scripted = ScriptedTriton(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = ReceivedRequest(self.command, self.path, dict(self.headers), body)
            scripted.requests.append(request)
            reply = scripted.script(request)
            if reply is None:
                scripted.ends.wait()
                self.close_connection = True
                return
            self.send_response(reply.status)
            if reply.header_length is not None:
                self.send_header("Inference-Header-Content-Length", str(reply.header_length))
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    scripted.url = f"127.0.0.1:{server.server_port}"
    try:
        yield scripted
    finally:
        scripted.ends.set()
        server.shutdown()
        server.server_close()
        thread.join()

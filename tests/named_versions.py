"""A relay that names the versions of a Triton's models by text, as KServe v2 allows.

Triton knows numbers alone; other v2 servers have versions such as ``v2.0``. What comes through
here is Triton's own answer but for that: its version 1 is ``VERSION``, in both directions.
"""

from __future__ import annotations

import http.client
import json
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Iterator

import grpc
from tritonclient.grpc import service_pb2

VERSION = "v2.0"
_SERVICE = service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"]
_LENGTH = "Inference-Header-Content-Length"


class NamedVersions:
    """A running relay to a server; ``http`` and ``grpc`` are its addresses."""

    def __init__(self, server: Any) -> None:
        self._channel = grpc.insecure_channel(server.grpc)
        self._grpc = grpc.server(futures.ThreadPoolExecutor(8))
        self._grpc.add_generic_rpc_handlers((_Handler(self._channel),))
        self.grpc = f"127.0.0.1:{self._grpc.add_insecure_port('127.0.0.1:0')}"
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _http_handler(server.http))
        self._http.daemon_threads = True
        self.http = f"127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> NamedVersions:
        self._grpc.start()
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._grpc.stop(None)
        self._http.shutdown()
        self._http.server_close()
        self._channel.close()

    def url(self, protocol: int) -> str:
        """Return the address for a number of v1's ``ProtocolType``."""
        return (self.http, self.grpc)[protocol]


def _rename(message: Any, old: str, new: str) -> Any:
    """Replace a version wherever a message has one."""
    for field, value in message.ListFields():
        if field.name in ("version", "model_version") and value == old:
            setattr(message, field.name, new)
        elif field.name in ("models", "model_stats"):
            for item in value:
                _rename(item, old, new)
        elif field.name == "infer_response":
            _rename(value, old, new)
    return message


class _Handler(grpc.GenericRpcHandler):
    """Every method of the v2 service, passed on."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def service(self, details: Any) -> Any:
        method = _SERVICE.methods_by_name[details.method.rpartition("/")[2]]
        classes = [
            getattr(service_pb2, item.name) for item in (method.input_type, method.output_type)
        ]
        kind = "stream_stream" if "Stream" in method.name else "unary_unary"
        ask = getattr(self._channel, kind)(
            details.method, classes[0].SerializeToString, classes[1].FromString
        )
        answer = (_stream if "Stream" in method.name else _unary)(ask)
        make = getattr(grpc, f"{kind}_rpc_method_handler")
        return make(answer, classes[0].FromString, classes[1].SerializeToString)


def _unary(ask: Any) -> Any:
    def answer(request: Any, context: Any) -> Any:
        try:
            return _rename(ask(_rename(request, VERSION, "1")), "1", VERSION)
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())

    return answer


def _stream(ask: Any) -> Any:
    def answer(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        for response in ask(_rename(request, VERSION, "1") for request in requests):
            yield _rename(response, "1", VERSION)

    return answer


def _http_handler(address: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.replace(f"/versions/{VERSION}", "/versions/1")
            server = http.client.HTTPConnection(address)
            server.request(self.command, path, body, dict(self.headers))
            answer = server.getresponse()
            self._pass(answer.status, answer.read(), answer.getheader(_LENGTH))
            server.close()

        def _pass(self, status: int, body: bytes, length: str | None) -> None:
            head = body if length is None else body[: int(length)]
            renamed = _renamed_json(head)
            self.send_response(status)
            if length is not None:
                self.send_header(_LENGTH, str(len(renamed)))
            self.send_header("Content-Length", str(len(renamed) + len(body) - len(head)))
            self.end_headers()
            self.wfile.write(renamed + body[len(head) :])

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    return Handler


def _renamed_json(text: bytes) -> bytes:
    if not text:
        return text
    answer = json.loads(text)
    rows = answer if isinstance(answer, list) else [answer, *answer.get("model_stats", ())]
    for row in rows:
        for member in ("version", "model_version"):
            if row.get(member) == "1":
                row[member] = VERSION
    return json.dumps(answer).encode()

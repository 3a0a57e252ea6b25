"""A gRPC server that answers ServerLive, and records the metadata of each call."""

from __future__ import annotations

from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from tests.certificates import Identity


def server_credentials(identity: Identity) -> Any:
    """Return the credentials of a server with this certificate and key."""
    certificate, key = (Path(path).read_bytes() for path in identity)
    return grpc.ssl_server_credentials([(key, certificate)])


LIVE = b"\x08\x01"  # ServerLiveResponse(live=True)


class Listener(grpc.GenericRpcHandler):
    """A server at ``address``; ``calls`` has the metadata and the remaining time of each call."""

    def __init__(self, credentials: Any = None) -> None:
        self.calls: list[tuple[dict[str, str], float | None]] = []
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers((self,))
        if credentials is None:
            self.port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            self.port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self.address = f"127.0.0.1:{self.port}"

    def __enter__(self) -> Listener:
        self._server.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.stop(None)

    def service(self, details: Any) -> Any:
        """Return the handler of a method: streams are empty, other methods answer ServerLive."""
        if details.method.endswith("Stream" + "Infer"):
            return grpc.stream_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._unary)

    def _unary(self, request: bytes, context: Any) -> bytes:
        self._note(context)
        return LIVE

    def _stream(self, requests: Any, context: Any) -> Any:
        self._note(context)
        return iter(())

    def _note(self, context: Any) -> None:
        self.calls.append((dict(context.invocation_metadata()), context.time_remaining()))

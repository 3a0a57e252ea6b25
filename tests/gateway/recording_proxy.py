"""A gRPC proxy in front of Triton that keeps the metadata of each call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc


class RecordingProxy(grpc.GenericRpcHandler):
    """``seen`` has the metadata of each call, by the method's name."""

    def __init__(self, target: str, secure: Any = None) -> None:
        self.seen: dict[str, dict[str, Any]] = {}
        self._channel = grpc.insecure_channel(target)
        self._server = grpc.server(ThreadPoolExecutor(8), handlers=[self])
        if secure is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            port = self._server.add_secure_port("127.0.0.1:0", secure)
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def __enter__(self) -> RecordingProxy:
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.stop(None)
        self._channel.close()

    def service(self, handler_call_details: Any) -> Any:
        """Pass any call on as a stream of messages, because the bytes of both kinds are equal."""
        method = handler_call_details.method
        name = method.rpartition("/")[2]
        self.seen[name] = dict(handler_call_details.invocation_metadata)
        ask = self._channel.stream_stream(method)
        return grpc.stream_stream_rpc_method_handler(lambda requests, _: ask(requests))

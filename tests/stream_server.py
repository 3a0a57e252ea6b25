"""A gRPC server whose ModelStreamInfer sends the bytes that a test chooses."""

from __future__ import annotations

import threading
from concurrent import futures
from typing import Any, Callable, Iterator, Sequence

import grpc
from tritonclient.grpc import service_pb2 as pb

#: A request → the serialised answers to it.
Answers = Callable[[Any], Sequence[bytes]]


def reply(request_id: str, value: bytes = b"\0\0\0\0", version: str = "1") -> bytes:
    """Return a good answer under an id: OUTPUT0, one FP32."""
    output = pb.ModelInferResponse.InferOutputTensor(name="OUTPUT0", datatype="FP32", shape=[1])
    answer = pb.ModelInferResponse(
        model_name="slow",
        model_version=version,
        id=request_id,
        outputs=[output],
        raw_output_contents=[value],
    )
    return bytes(pb.ModelStreamInferResponse(infer_response=answer).SerializeToString())


class StreamServer(grpc.GenericRpcHandler):
    """Serves the configuration of ``slow``, and streams, whose requests ``answers`` answers.

    ``streams`` is the number of streams, ``requests`` lists the requests of all streams.
    """

    def __init__(self, answers: Answers, **options: Any) -> None:
        self.answers = answers
        self.streams = 0
        self.requests: list[Any] = []
        self._lock = threading.Lock()
        named = [(f"grpc.{name}", value) for name, value in options.items()]
        self._server = grpc.server(futures.ThreadPoolExecutor(32), options=named)
        self._server.add_generic_rpc_handlers((self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> StreamServer:
        self._server.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.stop(None)

    def service(self, details: Any) -> Any:
        """Return the handler of a method."""
        if details.method.endswith("ModelStreamInfer"):
            return grpc.stream_stream_rpc_method_handler(
                self._stream, pb.ModelInferRequest.FromString, bytes
            )
        return grpc.unary_unary_rpc_method_handler(self._config, bytes, bytes)

    def _config(self, _request: bytes, _context: Any) -> bytes:
        config = {
            "name": "slow",
            "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [1]}],
            "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [1]}],
        }
        return bytes(pb.ModelConfigResponse(config=config).SerializeToString())

    def _stream(self, requests: Iterator[Any], _context: Any) -> Iterator[bytes]:
        with self._lock:
            self.streams += 1
        for request in requests:
            self.requests.append(request)
            yield from self.answers(request)

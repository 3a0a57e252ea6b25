"""The raw stub and servers that answer with what Triton does not (docs/v1-behaviour.md §9.2)."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from tritonclient.grpc import service_pb2 as v2

from tests.backends.answering_servers import SCORES, GrpcAnswers
from tests.server.stub_cases import SECONDS, infer_request, join_threads, slow_request, stub_at
from tests.stream_server import StreamServer

Code = grpc.StatusCode


@pytest.mark.parametrize("way", ["call", "future", "stream"])
def test_answer_that_v1_cannot_hold(way: str) -> None:
    """A result in shared memory larger than v1's message can say is an RpcError, and no hang."""
    request = infer_request("m", {"IN": SCORES})
    where = request.meta_data.output.add(name="OUT").shared_memory
    where.name, where.byte_size = "r", 8
    answer = v2.ModelInferResponse(model_name="m", raw_output_contents=[b""])
    answer.outputs.add(name="OUT", datatype="FP32", shape=[2**62, 2])
    with GrpcAnswers() as server, stub_at(server.address) as stub:
        server.replaced["infer"] = answer.SerializeToString()
        streamed = v2.ModelStreamInferResponse(infer_response=answer)
        server.replaced["stream"] = streamed.SerializeToString()
        with pytest.raises(grpc.RpcError, match="Exception deserializing .*out of range") as caught:
            {
                "call": lambda: stub.Infer(request, SECONDS),
                "future": lambda: stub.Infer.future(request, SECONDS).result(),
                "stream": lambda: next(stub.StreamInfer(iter([request]), SECONDS)),
            }[way]()
        assert caught.value.code() is Code.INTERNAL


class Leaving(StreamServer):
    """Has no time to tell of a model."""

    def _config(self, _request: bytes, context: Any) -> bytes:
        context.abort(Code.UNAVAILABLE, "leaving")
        raise AssertionError


def test_stream_whose_model_cannot_be_asked_for() -> None:
    """No answer about the model ends the stream with the status that the question had."""
    with Leaving(lambda _request: []) as server, stub_at(server.address) as stub:
        responses = stub.StreamInfer(iter([slow_request(0)]), SECONDS)
        with pytest.raises(grpc.RpcError, match="leaving"):
            next(responses)
        assert responses.code() is Code.UNAVAILABLE
    assert not join_threads()

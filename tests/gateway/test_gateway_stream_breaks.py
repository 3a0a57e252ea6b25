"""Streams of the gateway whose v2 stream breaks, or answers what nobody asked."""

from __future__ import annotations

import queue
import time
from typing import Any

import numpy as np

from testbed import TritonServer
from tests.gateway.gateway_process import StartGateway, code_of
from tests.relays import Relay
from tests.stream_server import StreamServer, reply
from tritonclient_shim.protos import grpc_service_pb2 as pb

pytest_plugins = ["tests.gateway.gateway_fixtures"]

START, END = 1, 2


def step(number: int, value: int, flags: int = 0, sequence: int = 70) -> pb.InferRequest:
    """A request to ``sequence_sum``."""
    request = pb.InferRequest(model_name="sequence_sum", model_version=-1)
    header = request.meta_data
    header.batch_size, header.id, header.flags, header.correlation_id = 1, number, flags, sequence
    header.input.add(name="INPUT", dims=[1])
    header.output.add(name="OUTPUT")
    request.raw_input.append(np.array([value], np.int32).tobytes())
    return request


def slow(number: int) -> pb.InferRequest:
    """A request to ``slow``."""
    request = pb.InferRequest(model_name="slow", model_version=-1)
    request.meta_data.batch_size, request.meta_data.id = 1, number
    request.meta_data.input.add(name="INPUT0", dims=[1])
    request.meta_data.output.add(name="OUTPUT0")
    request.raw_input.append(np.array([0], np.float32).tobytes())
    return request


class Conversation:
    """One v1 stream: a request, and its answer."""

    def __init__(self, stream: Any) -> None:
        self._asked: queue.Queue[Any] = queue.Queue()
        self._answers = stream(iter(self._asked.get, None))

    def ask(self, *requests: pb.InferRequest) -> list[Any]:
        """Each request's outcome: the sum, or code and message."""
        for request in requests:
            self._asked.put(request)
        return [self._outcome(next(self._answers), request) for request in requests]

    def end(self) -> list[Any]:
        """What comes after the last request."""
        self._asked.put(None)
        return list(self._answers)

    def _outcome(self, answer: Any, request: Any) -> Any:
        assert answer.meta_data.id == request.meta_data.id
        if code_of(answer.request_status) != "SUCCESS":
            return code_of(answer.request_status), answer.request_status.msg
        return int(np.frombuffer(answer.raw_output[0], np.int32)[0])


def test_open_sequence_must_be_started_again(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """A sequence is not continued over a break of the stream behind the gateway."""
    with Relay(behind.grpc) as relay:
        talk = Conversation(start_gateway("--triton-grpc", relay.address).stream)
        assert talk.ask(step(1, 5, START), step(2, 6)) == [5, 11]
        relay.cut()
        while talk.ask(step(3, 1, START | END, 71)) != [1]:  # the first may meet the break
            pass
        ((code, message), total, more) = talk.ask(step(4, 7), step(5, 1, START), step(6, 1, END))
        assert code == "INVALID_ARG"
        assert "broke in the midst of sequence 70" in message
        assert "FLAG_SEQUENCE_START" in message
        assert (total, more) == (1, 2)
        assert talk.end() == []


def test_a_sequence_goes_on_after_a_pause(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """A v1 stream that is idle gives its v2 stream up, and its sequences stay open."""
    talk = Conversation(start_gateway("--triton-grpc", behind.grpc).stream)
    assert talk.ask(step(1, 5, START)) == [5]
    time.sleep(2.5)  # the v2 stream is closed meanwhile
    assert talk.ask(step(2, 6), step(3, 1, END)) == [11, 12]
    assert talk.end() == []


def test_answers_to_nobody(start_gateway: StartGateway) -> None:
    """An answer that no request asked for is given to none: they fail, and the next one works."""
    with StreamServer(lambda _request: [reply("99")]) as server:
        talk = Conversation(start_gateway("--triton-grpc", server.address).stream)
        ((code, message),) = talk.ask(slow(1))
        assert code == "UNAVAILABLE"
        assert "an answer for request id '99', which is not outstanding" in message
        server.answers = lambda request: [reply(request.id)]
        assert talk.ask(slow(2)) == [0]
        assert talk.end() == []

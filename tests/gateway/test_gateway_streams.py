"""``StreamInfer``: order, breaks of the v2 stream, and requests that would crash Triton."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import grpc
import numpy as np
import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import Gateway, StartGateway, Talk, code_of, until
from tests.gateway.grpc_requests import failing, simple, slow
from tests.relays import Relay
from tests.stream_server import StreamServer, reply
from tritonclient_shim.core.model import ServerMetadata
from tritonclient_shim.gateway.grpc.stream import is_fragile
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.servers.base import MODEL_CONFIGURATION
from tritonclient_shim.servers.known import KnownServer

START, END = 1, 2
#: A module that bounds the unanswered requests of a stream to 64 KB, of which each takes 4 KB.
BOUNDED = """
from tritonclient_shim.gateway.grpc import stream

stream.MAX_UNREAD = 64 * 1024
"""


def step(number: int, value: int, flags: int = 0, sequence: int = 70) -> pb.InferRequest:
    """Return a request to ``sequence_sum``."""
    request = pb.InferRequest(model_name="sequence_sum", model_version=-1)
    header = request.meta_data
    header.batch_size, header.id, header.flags, header.correlation_id = 1, number, flags, sequence
    header.input.add(name="INPUT", dims=[1])
    header.output.add(name="OUTPUT")
    request.raw_input.append(np.array([value], np.int32).tobytes())
    return request


def ask(talk: Talk, *requests: pb.InferRequest) -> list[Any]:
    """Return the result of each request: the sum, or code and message."""
    responses = talk.ask(*requests)
    assert [item.meta_data.id for item in responses] == [item.meta_data.id for item in requests]
    return [
        int(np.frombuffer(response.raw_output[0], np.int32)[0])
        if code_of(response.request_status) == "SUCCESS"
        else (code_of(response.request_status), response.request_status.msg)
        for response in responses
    ]


@pytest.mark.smoke
def test_a_stream_keeps_order(gateway: Gateway) -> None:
    """Responses, refusals among them, have the requests' order, and precede the next request.

    A version that the server does not have ends neither the stream nor the server.
    """
    # docs/v1-behaviour.md §5, §9.2
    talk = gateway.talk()
    responses = talk.ask(simple(1), failing(2, 7), failing(3, 0))
    responses += talk.ask(simple(4)) + talk.ask(simple(5, version=9), simple(6))
    assert (talk.end(), talk.call.code()) == ([], grpc.StatusCode.OK)
    assert [response.meta_data.id for response in responses] == [*range(1, 7)]
    codes = [code_of(response.request_status) for response in responses]
    assert [number for number, code in enumerate(codes, 1) if code != "SUCCESS"] == [2, 5]
    assert responses[1].request_status.msg == "the model refused value 7"
    assert "version 9" in responses[4].request_status.msg
    assert len({response.request_status.request_id for response in responses}) == 6


def test_open_sequence_must_be_started_again(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """A sequence is not continued over a break of the stream behind the gateway."""
    with Relay(behind.grpc) as relay:
        talk = start_gateway("--triton-grpc", relay.address).talk()
        assert ask(talk, step(1, 5, START), step(2, 6)) == [5, 11]
        relay.cut()
        while ask(talk, step(3, 1, START | END, 71)) != [1]:  # the first request may meet the break
            pass
        requests = step(4, 7), step(5, 1, START), step(6, 1, END)
        ((code, message), total, more) = ask(talk, *requests)
        assert code == "INVALID_ARG"
        assert "broke in the midst of sequence 70" in message
        assert "FLAG_SEQUENCE_START" in message
        assert (total, more) == (1, 2)
        assert talk.end() == []


def test_a_sequence_goes_on_after_a_pause(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """An idle v1 stream closes its v2 stream, and its sequences stay open."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    talk = gateway.talk()
    assert ask(talk, step(1, 5, START)) == [5]
    threads = gateway.figure("Threads")
    until(lambda: gateway.figure("Threads") < threads)  # the thread of the v2 stream has ended
    assert ask(talk, step(2, 6), step(3, 1, END)) == [11, 12]
    assert talk.end() == []


def test_answers_to_nobody(start_gateway: StartGateway) -> None:
    """An answer with an unknown id fails the open requests; the next request succeeds."""
    with StreamServer(lambda _request: [reply("99")]) as server:
        talk = start_gateway("--triton-grpc", server.address).talk()
        ((code, message),) = ask(talk, slow(1, 0))
        assert code == "UNAVAILABLE"
        assert "an answer for request id '99', which is not outstanding" in message
        server.answers = lambda request: [reply(request.id)]
        assert ask(talk, slow(2, 0)) == [0]
        assert talk.end() == []


@pytest.fixture
def bounded(surroundings: dict[str, str], tmp_path: Path) -> None:
    """Have gateways of the test read few requests of a stream before they answer."""
    (tmp_path / "sitecustomize.py").write_text(BOUNDED)
    surroundings["PYTHONPATH"] += f":{tmp_path}"


@pytest.mark.usefixtures("bounded")
def test_unanswered_requests_are_bounded(start_gateway: StartGateway) -> None:
    """While Triton answers nothing, a stream sends it no more than a bounded number of bytes."""
    with StreamServer(lambda _request: []) as server:
        talk = start_gateway("--triton-grpc", server.address).talk()
        talk.send(*[slow(number, 0) for number in range(40)])
        until(lambda: len(server.requests) >= 15)
        time.sleep(0.5)  # for a request beyond the bound
        assert len(server.requests) == 15
        talk.cancel()


@pytest.mark.usefixtures("bounded")
def test_a_stream_beyond_its_bound_goes_on(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """Requests beyond the bound are read, and answered in order, when there is room again."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    responses = gateway.stream([simple(number) for number in range(1, 201)])
    assert [response.meta_data.id for response in responses] == [*range(1, 201)]


@pytest.mark.parametrize(
    ("version", "fragile"),
    [("2.33.0", True), ("2.38.1", True), ("2.39.0", False), ("2.51.0", False), ("3.0", False)]
    + [("1.15.0", False), ("", False), ("2.x", False)],
)
def test_fragile_servers(version: str, fragile: bool) -> None:
    """Triton before 2.39 is fragile; a connection asks for the version once.

    A server without model configurations is not fragile.
    """
    for extensions in ((MODEL_CONFIGURATION,), ()):
        backend = Mock()
        backend.known_server.return_value = KnownServer()
        backend.server_metadata.return_value = ServerMetadata("server", version, extensions)
        assert [is_fragile(backend) for _ in range(2)] == [fragile and bool(extensions)] * 2
        assert backend.server_metadata.call_count == 1

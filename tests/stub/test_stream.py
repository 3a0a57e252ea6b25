"""StreamInfer through the raw stub on a real server: order, refusals, ends
(docs/v1-behaviour.md §9.2).
"""

from __future__ import annotations

import gc
import threading
from typing import Any, Iterator

import grpc
import numpy as np
import pytest

from tensorrtserver.api import request_status_pb2 as codes
from tests.stream_server import StreamServer, reply
from tests.stub.stub_cases import (
    SECONDS,
    SUCCESS,
    infer_request,
    is_sum,
    join_threads,
    simple_request,
    slow_request,
    stub_at,
)

Code = grpc.StatusCode


def ids(responses: Any) -> list[int]:
    """Return the ids of the responses in their order."""
    return [response.meta_data.id for response in responses]


@pytest.mark.smoke
def test_answers_in_the_order_of_the_requests(stub: Any) -> None:
    """Responses are sent in request order, also with ids that repeat or are 0."""
    # docs/v1-behaviour.md §9.2
    requests = [slow_request(0.6, 7), slow_request(0, 7), slow_request(0.3), slow_request(0, 1)]
    answers = list(stub.StreamInfer(iter(requests), SECONDS))
    assert ids(answers) == [7, 7, 0, 1]
    slept = [np.frombuffer(answer.raw_output[0], np.float32)[0] for answer in answers]
    assert slept == [np.float32(0.6), 0, np.float32(0.3), 0]


def test_refusals_are_answers_in_their_place(stub: Any) -> None:
    """A request that the client or the server refuses does not end the stream."""
    # docs/v1-behaviour.md §9.2
    refused = infer_request("failing", {"INPUT0": np.ones(1, np.float32)}, ["OUTPUT0"], number=3)
    requests = [
        simple_request(1),
        simple_request(2, model="nope"),
        refused,
        simple_request(4, batch=9),
        simple_request(5),
    ]
    stream = stub.StreamInfer(iter(requests), SECONDS)
    answers = list(stream)
    assert ids(answers) == [1, 2, 3, 4, 5]
    assert [answer.request_status.code for answer in answers] == [
        SUCCESS,
        codes.UNAVAILABLE,
        codes.INTERNAL,
        codes.INVALID_ARG,
        SUCCESS,
    ]
    assert is_sum(answers[4], 5)
    assert (stream.code(), stream.done(), stream.is_active()) == (Code.OK, True, False)


def test_request_changed_between_two_yields(stub: Any) -> None:
    """A generator may fill one request object anew for each turn."""
    # docs/v1-behaviour.md §F.7

    def requests() -> Iterator[Any]:
        request = simple_request()
        for number in range(20):
            request.CopyFrom(simple_request(number))
            yield request
        request.Clear()

    answers = list(stub.StreamInfer(requests(), SECONDS))
    assert [is_sum(answer, number) for number, answer in enumerate(answers)] == [True] * 20


def test_generator_that_waits_for_answers(stub: Any) -> None:
    """Requests are taken in the background: a generator may wait for the previous reply."""
    answered = threading.Semaphore(1)

    def requests() -> Iterator[Any]:
        for number in range(5):
            assert answered.acquire(timeout=SECONDS)
            yield simple_request(number)

    stream = stub.StreamInfer(requests())
    for number in range(5):
        assert is_sum(next(stream), number)
        answered.release()
    with pytest.raises(StopIteration):
        next(stream)


def test_requests_are_sent_before_anyone_listens(stub: Any) -> None:
    """The generator runs to its end although no reply is read."""
    ended = threading.Event()

    def requests() -> Iterator[Any]:
        yield from (simple_request(number) for number in range(100))
        ended.set()

    stream = stub.StreamInfer(requests(), SECONDS)
    assert ended.wait(SECONDS)
    assert ids(stream) == list(range(100))


# -------------------------------------------------------------------------------- endings


def endless(taken: list[int]) -> Iterator[Any]:
    """Yield requests without end, and count them."""
    while True:
        taken.append(1)
        yield simple_request(len(taken))


@pytest.mark.parametrize("end", ["cancel", "drop"])
def test_stream_given_up_early(stub: Any, end: str) -> None:
    """A stream that is cancelled or dropped stops its generator and leaves no thread."""
    taken: list[int] = []
    stream = stub.StreamInfer(endless(taken))
    assert is_sum(next(stream), 1)
    if end == "cancel":
        assert stream.cancel()
        with pytest.raises(grpc.RpcError) as caught:
            list(stream)
        assert caught.value.code() is stream.code() is Code.CANCELLED
        assert (stream.cancelled(), stream.cancel()) == (True, False)
    else:
        del stream
        gc.collect()
    assert not join_threads()
    count = len(taken)
    assert threading.Event().wait(0.05) is False
    assert len(taken) == count


def test_answers_before_the_break_are_delivered(stub: Any) -> None:
    """At its timeout a stream yields the replies that arrived, then raises DEADLINE_EXCEEDED."""
    requests = [simple_request(1), simple_request(2), slow_request(4)]
    stream = stub.StreamInfer(iter(requests), 2)
    assert ids([next(stream), next(stream)]) == [1, 2]
    for _ in range(2):  # also at each later read
        with pytest.raises(grpc.RpcError) as caught:
            next(stream)
        assert caught.value.code() is Code.DEADLINE_EXCEEDED
    assert stream.details()


@pytest.mark.parametrize("answer", [reply("99"), b"\xff\xff\xff"], ids=["unknown id", "garbage"])
def test_answers_to_nobody(answer: bytes) -> None:
    """A reply that belongs to no request ends the stream and its reader."""
    with StreamServer(lambda _request: [answer]) as server, stub_at(server.address) as stub:
        stream = stub.StreamInfer(iter([slow_request(0, 1)]), SECONDS)
        with pytest.raises(grpc.RpcError) as caught:
            next(stream)
        assert caught.value.code() is not Code.DEADLINE_EXCEEDED
    assert not join_threads()


@pytest.mark.parametrize("error", [LookupError, SystemExit, GeneratorExit])
def test_generator_that_fails(stub: Any, error: type[BaseException], caplog: Any) -> None:
    """An iterator's exception ends the call as in gRPC, which logs it."""

    def requests() -> Iterator[Any]:
        yield simple_request(1)
        raise error

    stream = stub.StreamInfer(requests())
    with pytest.raises(grpc.RpcError) as caught:
        list(stream)
    assert (caught.value.code(), caught.value.details()) == (
        Code.UNKNOWN,
        "Exception iterating requests!",
    )
    assert error.__name__ in caplog.text

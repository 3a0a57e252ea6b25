"""Replies on a stream that no real server sends: each request still gets an outcome."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.stream_server import StreamServer, reply

RAW = InferContext.ResultFormat.RAW
INPUTS = {"INPUT0": [np.zeros(1, np.float32)]}
OUTPUTS = {"OUTPUT0": RAW}

FOREIGN_ID = "GRPC client failed: 13: The stream was ended because of an answer for request id '99'"
NO_STATUS = "infer request did not return status"


def garbage(_request: Any) -> list[bytes]:
    return [b"\xff\xff\xff"]


def nobodys(_request: Any) -> list[bytes]:
    return [reply("99")]


def too_few_bytes(request: Any) -> list[bytes]:
    return [b"\x12\x7f" + reply(request.id)[2:]]


def good(request: Any) -> list[bytes]:
    return [reply(request.id, np.float32(7).tobytes())]


@contextmanager
def context_on(answers: Any, **options: Any) -> Iterator[tuple[StreamServer, InferContext]]:
    """Yield a server that answers so, and a streaming context of it."""
    with StreamServer(answers, **options) as server, InferContext(
        server.address, 1, "slow", streaming=True
    ) as context:
        yield server, context


def outcome_of(context: InferContext) -> str:
    """Return the value or the message of run(), which must return."""
    texts: list[str] = []

    def run() -> None:
        try:
            texts.append(str(context.run(INPUTS, OUTPUTS)["OUTPUT0"][0].item()))
        except InferenceServerException as error:
            texts.append(str(error.message()))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    return texts[0] if texts else "waits for ever"


@pytest.mark.parametrize(
    ("answers", "message"),
    [(nobodys, FOREIGN_ID), (garbage, NO_STATUS), (too_few_bytes, NO_STATUS)],
)
def test_answers_to_nobody(answers: Any, message: str) -> None:
    """A reply without a request ends the stream: run() raises, and the next run() works."""
    with context_on(answers) as (server, context):
        assert outcome_of(context).startswith(message)
        server.answers = good
        assert outcome_of(context) == "7.0"
        assert server.streams == 2


def test_never_the_answer_of_another() -> None:
    """An id that is not outstanding fails all pending requests of the stream."""
    last = threading.Event()

    def answers(request: Any) -> list[bytes]:
        return [reply("99", np.float32(1).tobytes())] if request.id == "3" else []

    done: list[int] = []

    def called(_context: Any, number: int) -> None:
        done.append(number)
        if len(done) == 3:
            last.set()

    with context_on(answers) as (server, context):
        for _ in range(3):
            context.async_run(called, INPUTS, OUTPUTS)
        assert last.wait(20)
        for number in done:
            with pytest.raises(InferenceServerException, match=FOREIGN_ID):
                context.get_async_run_results(number)
    assert done == [1, 2, 3]


def test_answered_twice() -> None:
    """A second reply to one request is not used for the next request."""
    with context_on(lambda request: good(request) * 2) as (server, context):
        texts = [outcome_of(context) for _ in range(6)]
    assert texts[0] == "7.0"
    assert all(text == "7.0" or text.startswith(FOREIGN_ID[:-3]) for text in texts), texts


def test_without_ids() -> None:
    """Replies without ids are matched in the order of the requests (docs/v2-mapping.md §4)."""
    values = iter(range(10))
    answers = [reply("", np.float32(value).tobytes()) for value in values]
    with context_on(lambda _request: [answers.pop(0)]) as (server, context):
        assert [outcome_of(context) for _ in range(10)] == [f"{n}.0" for n in range(10)]
        assert server.streams == 1

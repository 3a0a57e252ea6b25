"""Two servers with unreadable replies, and the styles of requests to them."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.backends.answering_servers import SCORES, GrpcAnswers, HttpAnswers, reply

PATIENCE = 30.0
RAW, CLASS = InferContext.ResultFormat.RAW, InferContext.ResultFormat.CLASS
INPUTS = {"IN": [SCORES]}
UNREADABLE = (
    r"^the server's answer could not be read: .*; expected .*; check the server at this url"
)


@pytest.fixture
def http_server() -> Iterator[HttpAnswers]:
    with HttpAnswers() as server:
        yield server


@pytest.fixture
def grpc_server() -> Iterator[GrpcAnswers]:
    with GrpcAnswers() as server:
        yield server


@pytest.fixture
def opened() -> Iterator[Callable[..., InferContext]]:
    """Open contexts; close them at the end."""
    with ExitStack() as contexts:
        yield lambda *args, **kwargs: contexts.enter_context(InferContext(*args, **kwargs))


@pytest.fixture
def quiet(capfd: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no thread dies and that stderr stays empty."""
    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: died.append(arguments.exc_value))
    yield
    assert not died
    assert capfd.readouterr().err == ""


def refused(call: Callable[[], Any]) -> str:
    """Return the message of a call's error."""
    with pytest.raises(InferenceServerException) as caught:
        call()
    message: str | None = caught.value.message()
    assert message, "it says nothing"
    return message


def output(**members: Any) -> dict[str, Any]:
    """Return a reply over HTTP with a changed first output."""
    header = reply()
    header["outputs"] = [{**header["outputs"][0], **members}]
    return header


def run(context: InferContext, outputs: Any) -> None:
    context.run(INPUTS, outputs)


def with_callback(context: InferContext, outputs: Any) -> None:
    """Fetch the result when the callback is called."""
    numbers: SimpleQueue[int] = SimpleQueue()
    context.async_run(lambda _, number: numbers.put(number), INPUTS, outputs)
    number = numbers.get(timeout=PATIENCE)
    assert numbers.empty()
    context.get_async_run_results(number)


def with_id(context: InferContext, outputs: Any) -> None:
    """Fetch the result by its id, and wait for it."""
    context.get_async_run_results(context.async_run(INPUTS, outputs), True)

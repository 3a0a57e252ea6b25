"""Servers that refuse a request, or have been asked, and then answer nothing more."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.infer_cases import RAW, Completions
from tests.scripted_triton import (
    ReceivedRequest,
    ScriptedReply,
    ScriptedTriton,
    configuration,
    json_reply,
    refusal,
    scripted_triton,
)
from tritonclient_shim.concurrency import questions

INPUTS = {"X": [np.zeros(1, np.int32)]}
OUTPUTS = {"Y": RAW}


def refuse(request: ReceivedRequest) -> ScriptedReply:
    """Return the configuration, or a refusal of an inference."""
    if request.is_inference:
        return refusal("no room for this request")
    return json_reply(configuration("INT32", [1]))


def refuse_and_hang(request: ReceivedRequest) -> ScriptedReply | None:
    """Return the refusal of an inference; answer nothing else."""
    return refuse(request) if request.is_inference else None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedTriton]:
    """Yield a server that tests make hang; nobody waits for it for more than half a second."""
    monkeypatch.setattr(questions, "ANSWERED_WITHIN", 0.5)
    with scripted_triton(refuse) as scripted:
        yield scripted


def question_threads() -> list[threading.Thread]:
    """Return the threads that wait for an answer to a question."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("question")]


def test_run_raises_the_refusal(server: ScriptedTriton) -> None:
    """A refusal reaches the caller of run also if the server answers no question after it."""
    with InferContext(server.url, 0, "m") as context:
        server.script = refuse_and_hang
        with pytest.raises(InferenceServerException, match="no room for this request"):
            context.run(INPUTS, OUTPUTS)


def test_a_fetch_raises_the_refusal(server: ScriptedTriton) -> None:
    """A refusal reaches an asynchronous request, in the callback or with the id."""
    with InferContext(server.url, 0, "m") as context:
        server.script = refuse_and_hang
        completions = Completions()
        context.async_run(completions, INPUTS, OUTPUTS)
        (with_callback,) = completions.wait()
        with_id: Any = context.async_run(INPUTS, OUTPUTS)
        for request_id, wait in ((with_callback, False), (with_id, True)):
            with pytest.raises(InferenceServerException, match="no room for this request"):
                context.get_async_run_results(request_id, wait)


def test_one_question_at_a_time(server: ScriptedTriton) -> None:
    """Refused calls ask a hung server once for the configuration, and keep one thread for it."""
    with InferContext(server.url, 0, "m") as context:
        server.script = refuse_and_hang
        asked, waiting = len(server.configurations), len(question_threads())
        for _ in range(3):
            with pytest.raises(InferenceServerException, match="no room for this request"):
                context.run(INPUTS, OUTPUTS)
            with pytest.raises(InferenceServerException, match="unknown input"):
                context.run({"Z": INPUTS["X"]}, OUTPUTS)
        assert len(server.configurations) == asked + 1
        assert len(question_threads()) <= waiting + 2  # the configuration, and the server's id


def test_threads_share_a_question(server: ScriptedTriton) -> None:
    """Calls of several threads that are refused at one time share one question."""
    with InferContext(server.url, 0, "m") as context:
        server.script = refuse_and_hang
        asked = len(server.configurations)
        errors: list[BaseException] = []

        def run() -> None:
            try:
                context.run(INPUTS, OUTPUTS)
            except InferenceServerException as error:
                errors.append(error)

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(errors) == 8
        assert len(server.configurations) == asked + 1


def test_a_server_that_answers_again(server: ScriptedTriton) -> None:
    """A context reads the configuration again once a server that hung answers again."""
    with InferContext(server.url, 0, "m") as context:
        server.script = refuse_and_hang
        with pytest.raises(InferenceServerException, match="no room for this request"):
            context.run(INPUTS, OUTPUTS)
        server.script = refuse
        server.ends.set()
        asked = len(server.configurations)
        for thread in question_threads():
            thread.join(10)
        with pytest.raises(InferenceServerException, match="no room for this request"):
            context.run(INPUTS, OUTPUTS)
        assert len(server.configurations) > asked

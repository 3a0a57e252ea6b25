"""Any reply of a server: a call returns or raises InferenceServerException; the context goes on."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import Any, Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelControlContext,
    ModelRepositoryContext,
    ServerHealthContext,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from tests.backends import odd_answers
from tests.backends.answering_servers import SCORES, GrpcAnswers, HttpAnswers
from tests.reliability.fuzzing import fuzzed
from tests.reliability.identified_calls import within

PATIENCE = 20.0

RAW, CLASS = InferContext.ResultFormat.RAW, InferContext.ResultFormat.CLASS
INPUTS = {"IN": [SCORES]}
REQUESTS: list[dict[str, Any]] = [
    {"OUT": RAW, "LABELLED": RAW},
    {"OUT": (CLASS, 1)},
    {"LABELLED": (CLASS, 2)},
]


class Client:
    """Every public call on one server, with checks after each call."""

    def __init__(self, url: str, protocol: int) -> None:
        self.url, self.protocol = url, protocol
        self.contexts = [self.open("m"), self.open("s")]
        if protocol == 1:
            self.contexts.append(self.open("m", streaming=True))
        self.callbacks: list[list[int]] = []

    def open(self, model: str, streaming: bool = False) -> InferContext:
        return InferContext(self.url, self.protocol, model, streaming=streaming)

    def infer(self) -> None:
        """Infer in every style. Check that each callback runs exactly once."""
        for context in self.contexts:
            for outputs in REQUESTS:
                attempt(partial(context.run, INPUTS, outputs))
                self._later(context, outputs)

    def _later(self, context: InferContext, outputs: Any) -> None:
        numbers: list[int] = []
        done = threading.Event()

        def callback(context: InferContext, number: int) -> None:
            numbers.append(number)
            attempt(lambda: context.get_async_run_results(number))
            done.set()

        with suppress(InferenceServerException):
            context.async_run(callback, INPUTS, outputs)
            assert done.wait(PATIENCE), "no callback"
            self.callbacks.append(numbers)
        with suppress(InferenceServerException):
            context.get_async_run_results(context.async_run(INPUTS, outputs), True)

    def control(self) -> None:
        """Make the calls that are no inference, each with a new context, as v1's scripts did."""
        address = (self.url, self.protocol)
        for model in (None, "m"):
            attempt(ServerStatusContext(*address, model).get_server_status)
        attempt(ModelRepositoryContext(*address).get_model_repository_index)
        attempt(lambda: ModelControlContext(*address).load("m"))
        attempt(lambda: ModelControlContext(*address).unload("m"))
        attempt(SharedMemoryControlContext(*address).get_shared_memory_status)
        health = ServerHealthContext(*address)
        for ask in (health.is_live, health.is_ready):
            assert attempt(ask) in (True, False, None)

    def construct(self) -> None:
        """Make new contexts, and send requests on those that succeed."""
        for model in ("m", "s"):
            result = attempt(partial(self.open, model))
            if result is None:
                continue
            for outputs in REQUESTS:
                attempt(partial(result.run, INPUTS, outputs))
            result.close()

    def well(self) -> None:
        """Check that contexts read a good reply correctly after the odd replies."""
        if self.protocol == 1 and self.contexts[2] is not None:
            with suppress(InferenceServerException):
                self.contexts[2].run(INPUTS, REQUESTS[0])
            self.contexts[2].close()
            self.contexts[2] = self.open("m", streaming=True)
        for context in self.contexts:
            for _ in range(9):  # the server hangs up after some replies, which may show only now
                if attempt(partial(context.run, INPUTS, REQUESTS[0])) is not None:
                    break
            np.testing.assert_array_equal(context.run(INPUTS, REQUESTS[0])["OUT"][0], SCORES)
            result = context.run(INPUTS, REQUESTS[2])["LABELLED"]
            assert [item[:2] for item in result[0]] == [(1, 2.0), (0, 1.0)]

    def called_once(self) -> None:
        """Check that each callback of this reply ran once."""
        callbacks, self.callbacks = self.callbacks, []
        assert [len(numbers) for numbers in callbacks] == [1] * len(callbacks)

    def close(self) -> None:
        for context in self.contexts:
            context.close()


def attempt(call: Callable[[], Any]) -> Any:
    """Return the call's result; None for an InferenceServerException with a message."""
    try:
        return call()
    except InferenceServerException as error:
        assert error.message()
        assert len(error.message() or "") < 1000
        return None


@pytest.fixture
def quiet(capfd: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Check that no thread died and that stderr is empty."""
    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: died.append(arguments.exc_value))

    def check() -> None:
        assert not died, died
        # protobuf 3.20 writes its own line about text that is not UTF-8
        lines = capfd.readouterr().err.splitlines()
        assert [line for line in lines if not line.startswith("[libprotobuf ERROR")] == []

    yield check


@pytest.fixture(scope="module")
def http_side() -> Iterator[Any]:
    with HttpAnswers() as server:
        client = Client(server.address, 0)
        yield server, client
        client.close()


@pytest.fixture(scope="module")
def grpc_side() -> Iterator[Any]:
    with GrpcAnswers() as server:
        client = Client(server.address, 1)
        yield server, client
        client.close()


INFERENCE = ("infer", "classes")
DESCRIPTION = ("config", "stateful")
OTHERS = ("metadata", "statistics", "index", "system", "cuda", "command", "health", "config")


def use(server: Any, client: Client, kind: str, answer: Any) -> None:
    """Make every call that gets this reply. Then check that good replies work."""
    server.replaced = {kind: answer}
    if kind in INFERENCE or kind == "stream":
        within(PATIENCE, client.infer)
    elif kind in DESCRIPTION:
        within(PATIENCE, client.construct)
    if kind in OTHERS:
        within(PATIENCE, client.control)
    server.replaced = {}
    within(PATIENCE, client.well)
    client.called_once()


@pytest.mark.parametrize("kinds", [INFERENCE, DESCRIPTION, OTHERS], ids=" ".join)
@fuzzed("answers of servers")
@given(data=st.data())
def test_http(kinds: Any, data: Any, http_side: Any, quiet: Any) -> None:
    """For any reply over HTTP, a call raises nothing but InferenceServerException."""
    # docs/v1-behaviour.md §1.6
    kind = data.draw(st.sampled_from(kinds))
    server, client = http_side
    use(server, client, kind, data.draw(odd_answers.bodies(kind)))
    quiet()


@pytest.mark.parametrize("kinds", [(*INFERENCE, "stream"), DESCRIPTION, OTHERS], ids=" ".join)
@fuzzed("answers of servers")
@given(data=st.data())
def test_grpc(kinds: Any, data: Any, grpc_side: Any, quiet: Any) -> None:
    """For any reply over gRPC, a call raises nothing but InferenceServerException."""
    # docs/v1-behaviour.md §1.6
    kind = data.draw(st.sampled_from(kinds))
    server, client = grpc_side
    use(server, client, kind, data.draw(odd_answers.messages(kind)))
    quiet()

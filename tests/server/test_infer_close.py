"""close(), with and the closed context (docs/v1-behaviour.md §5, §6, §E.13)."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any, Callable

import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.server.infer_cases import (
    BOTH,
    ONE,
    PATIENCE,
    SUM,
    Completions,
    add_sub,
    client_error,
    fp32,
)

pytest_plugins = ["tests.server.infer_fixtures"]

CLOSED = "InferContext is closed"

NOTHING: Any = None
CALLS: dict[str, Callable[[InferContext], Any]] = {
    "run": lambda context: context.run(add_sub(), BOTH),
    "run, wrong": lambda context: context.run(NOTHING, NOTHING),
    "async_run": lambda context: context.async_run(print, add_sub(), BOTH),
    "async_run, old": lambda context: context.async_run(add_sub(), BOTH),
    "async_run_with_cb": lambda context: context.async_run_with_cb(print, add_sub(), BOTH),
    "get_async_run_results": lambda context: context.get_async_run_results(1),
    "get_async_run_results, old": lambda context: context.get_async_run_results(1, True),
    "get_ready_async_request": lambda context: context.get_ready_async_request(True),
    "get_stat": lambda context: context.get_stat(),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.smoke
def test_use_after_close(connect: Any, call: str) -> None:
    """v1 ended the process; ``InferContext is closed``, each time."""
    # docs/v1-behaviour.md §6, §10.5.2
    context = connect("simple")
    context.close()
    for _ in range(2):
        with client_error(CLOSED):
            CALLS[call](context)


def test_close_twice(connect: Any) -> None:
    """close() returns None, is idempotent; the getters keep what they had."""
    # docs/v1-behaviour.md §6, §E.13
    context = connect("simple", correlation_id=7)
    context.run(add_sub(), BOTH)
    before = context.get_last_request_id()
    assert context._ctx is not None
    assert [context.close(), context.close()] == [None, None]
    assert context._ctx is None
    assert context.get_last_request_id() == before
    assert context.get_last_request_model_name() == "simple"
    assert context.get_last_request_model_version() == 1


def test_correlation_id_after_close(connect: Any) -> None:
    """correlation_id() works after close(), with the sticky value."""
    # docs/v1-behaviour.md §E.13, §F.5
    context = connect("simple", correlation_id=7)
    context.run(add_sub(), BOTH, corr_id=9)
    context.close()
    context.close()
    assert context.correlation_id() == 9


def test_getters_after_failing_run(connect: Any) -> None:
    """run() on a closed context resets the getters like any failing run()."""
    # docs/v1-behaviour.md §4.4
    context = connect("simple")
    context.run(add_sub(), BOTH)
    context.close()
    with client_error(CLOSED):
        context.run(add_sub(), BOTH)
    assert context.get_last_request_id() is None


def test_with(url: str, protocol: int) -> None:
    """``with``: returns the context, closes on exit, lets exceptions pass."""
    # docs/v1-behaviour.md §6
    with pytest.raises(KeyError, match="mine"), InferContext(url, protocol, "simple") as context:
        assert type(context) is InferContext
        raise KeyError("mine")
    assert context._ctx is None
    with client_error(CLOSED):
        context.run(add_sub(), BOTH)


def test_results_survive_close(connect: Any) -> None:
    """Results are independent of the context (docs/v1-behaviour.md §4.1)."""
    context = connect("simple")
    results = context.run(add_sub(), BOTH)
    context.close()
    del context
    gc.collect()
    assert results["OUTPUT0"][0].tolist() == SUM


class Subclass(InferContext):
    """As users wrote them: an own constructor, an own close()."""

    def __init__(self, url: str, protocol: int) -> None:
        InferContext.__init__(self, url, protocol, "simple", correlation_id=3)
        self.closed = 0
        self.ids: list[int] = []

    def close(self) -> None:
        self.closed += 1
        if self._ctx is not None:
            InferContext.close(self)
        self.ids.append(self.correlation_id())


def test_subclass(url: str, protocol: int) -> None:
    """Subclasses with their own close(), that read _ctx and the id after."""
    # docs/v1-behaviour.md §F.5
    context = Subclass(url, protocol)
    with context:
        done = Completions()
        context.async_run(done, add_sub(), BOTH)
        assert isinstance((done.wait(), done.calls[0][0])[1], Subclass)
    context.close()
    assert context.closed == 2
    assert context.ids == [3, 3]


class Overriding(InferContext):
    """Overrides what it wants; the rest must not depend on it."""

    def get_last_request_id(self) -> int:
        return -7

    def correlation_id(self) -> int:
        return -8


def test_overriding_methods(url: str, protocol: int) -> None:
    """Overridden getters do not confuse the context (docs/v1-behaviour.md §F.5)."""
    with Overriding(url, protocol, "simple", correlation_id=5) as context:
        assert context.run(add_sub(), BOTH)["OUTPUT0"][0].tolist() == SUM
        assert (context.get_last_request_id(), context.correlation_id()) == (-7, -8)
        assert InferContext.correlation_id(context) == 5


def test_close_http_in_flight(triton: Any) -> None:
    """close, HTTP: returns at once, pending requests are dropped, no callbacks."""
    # docs/v1-behaviour.md §5
    context, done = InferContext(triton.http, 0, "slow"), Completions()
    for _ in range(2):
        context.async_run(done, fp32(1.0), ONE)
    started = time.monotonic()
    context.close()
    assert time.monotonic() - started < 0.8
    with InferContext(triton.http, 0, "slow") as other:
        other.run(fp32(1.2), ONE)
    assert done.calls == []


@pytest.mark.smoke
def test_close_grpc_in_flight(triton: Any) -> None:
    """close, gRPC: waits for the next response and its callback, drops the others."""
    # docs/v1-behaviour.md §5
    context, done = InferContext(triton.grpc, 1, "slow"), Completions()
    for seconds in (0.9, 0.3):
        context.async_run(done, fp32(seconds), ONE)
    started = time.monotonic()
    context.close()
    assert 0.2 < time.monotonic() - started < 0.85
    assert [request_id for _, request_id in done.calls] == [2]
    with InferContext(triton.grpc, 1, "slow") as other:
        other.run(fp32(0.9), ONE)
    assert len(done.calls) == 1


def test_close_stream_in_flight(triton: Any) -> None:
    """close, streaming: waits until everything is answered; no callbacks."""
    # docs/v1-behaviour.md §5
    context = InferContext(triton.grpc, 1, "slow", streaming=True)
    done = Completions()
    for _ in range(2):
        context.async_run(done, fp32(0.3), ONE)
    started = time.monotonic()
    context.close()
    assert time.monotonic() - started > 0.25
    assert done.calls == []


@pytest.mark.parametrize("kind", ["HTTP", "GRPC", "stream"])
def test_close_inside_a_callback(triton: Any, kind: str) -> None:
    """close() in the own callback ended the process; here it just closes."""
    # docs/v1-behaviour.md §5, §10.5.19
    protocol = 0 if kind == "HTTP" else 1
    url = triton.url(protocol)
    context = InferContext(url, protocol, "simple", streaming=kind == "stream")
    done = Completions()

    sent = threading.Event()

    def callback(given: InferContext, request_id: int) -> None:
        sent.wait(PATIENCE)
        given.close()
        done(given, request_id)

    for _ in range(2):
        context.async_run(callback, add_sub(), BOTH)
    sent.set()
    (request_id,) = done.wait()
    with client_error(CLOSED):
        context.get_async_run_results(request_id)
    assert context.close() is None


@pytest.mark.parametrize("wait", ["fetch", "ready"])
def test_close_while_another_thread_waits(connect: Any, wait: str) -> None:
    """issue 2 close: whoever waits for a request of a closed context is told, not left hanging."""
    context = connect("slow")
    request_id = context.async_run(fp32(1.0), ONE)
    raised: list[InferenceServerException] = []
    waiting = threading.Event()

    def work() -> None:
        waiting.set()
        try:
            if wait == "fetch":
                context.get_async_run_results(request_id, True)
            else:
                context.get_ready_async_request(True)
        except InferenceServerException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    waiting.wait(PATIENCE)
    time.sleep(0.05)
    context.close()
    thread.join(PATIENCE)
    assert [error.message() for error in raised] == [CLOSED]

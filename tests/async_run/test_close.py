"""close(), ``with``, and contexts without references (docs/v1-behaviour.md §5, §6)."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any, Callable

import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ServerStatusContext
from tests.infer_cases import (
    BOTH,
    ONE,
    PATIENCE,
    SUM,
    Completions,
    add_sub,
    client_error,
    fp32,
    wait_for,
)

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


@pytest.mark.smoke
def test_use_after_close(connect: Any) -> None:
    """Each call on a closed context raises ``InferContext is closed``. v1 ended the process."""
    # docs/v1-behaviour.md §6
    context = connect("simple")
    context.run(add_sub(), BOTH)
    context.close()
    for call in (*CALLS.values(), *CALLS.values()):
        with client_error(CLOSED):
            call(context)
    assert context.get_last_request_id() is None  # docs/v1-behaviour.md §4.4


class Subclass(InferContext):
    """A subclass as users wrote them, with its own constructor and close()."""

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
    """A subclass's own close() may read _ctx and the last id afterwards."""
    # docs/v1-behaviour.md §F.5
    context = Subclass(url, protocol)
    with context:
        done = Completions()
        context.async_run(done, add_sub(), BOTH)
        assert isinstance((done.wait(), done.calls[0][0])[1], Subclass)
    context.close()
    assert context.closed == 2
    assert context.ids == [3, 3]


@pytest.mark.smoke
def test_close_grpc_in_flight(triton: Any) -> None:
    """close over gRPC waits for the next response and its callback, and drops later responses."""
    # docs/v1-behaviour.md §5
    context, done = InferContext(triton.grpc, 1, "slow"), Completions()
    for seconds in (3.0, 0.3):
        context.async_run(done, fp32(seconds), ONE)
    context.close()
    assert [request_id for _, request_id in done.calls] == [2]


@pytest.mark.parametrize("kind", ["HTTP", "GRPC", "stream"])
def test_close_inside_a_callback(triton: Any, kind: str) -> None:
    """close() inside the context's own callback closes the context. v1 ended the process."""
    # docs/v1-behaviour.md §5
    protocol = 0 if kind == "HTTP" else 1
    url = triton.url(protocol)
    context = InferContext(url, protocol, "simple", streaming=kind == "stream")
    done = Completions()

    sent = threading.Event()

    def callback(callback_context: InferContext, request_id: int) -> None:
        sent.wait(PATIENCE)
        callback_context.close()
        done(callback_context, request_id)

    for _ in range(2):
        context.async_run(callback, add_sub(), BOTH)
    sent.set()
    (request_id,) = done.wait()
    with client_error(CLOSED):
        context.get_async_run_results(request_id)
    assert context.close() is None


@pytest.mark.parametrize("wait", ["fetch", "ready"])
def test_close_while_another_thread_waits(connect: Any, wait: str) -> None:
    """A thread that waits for a request of a closed context gets an error and does not hang."""
    context = connect("slow")
    request_id = context.async_run(fp32(3.0), ONE)
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


class Announcing(InferContext):
    """A subclass that releases a resource in close()."""

    calls: list[str] = []

    def close(self) -> None:
        self.calls.append("closing")
        InferContext.close(self)


def test_garbage_collection_through_close(url: str, protocol: int) -> None:
    """``__del__`` calls close(), also a subclass's, and also after an explicit close()."""
    # docs/v1-behaviour.md §6
    context = Announcing(url, protocol, "simple")
    Announcing.calls.clear()
    session = weakref.ref(context._ctx)
    context.close()
    del context
    gc.collect()
    assert Announcing.calls == ["closing", "closing"]
    assert session() is None


def collected(gone: Any) -> bool:
    """True if the garbage collector collects the object in the end."""
    deadline = time.monotonic() + PATIENCE
    while gone() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    return gone() is None


@pytest.mark.parametrize("streaming", [False, True])
def test_garbage_collection_in_flight(triton: Any, protocol: int, streaming: bool) -> None:
    """``__del__`` during requests neither hangs nor prints, and disturbs no other context."""
    # docs/v1-behaviour.md §5
    if streaming and protocol == 0:
        return  # v1 has no streams over HTTP
    context = InferContext(triton.url(protocol), protocol, "slow", streaming=streaming)
    context.async_run(Completions(), fp32(0.2), ONE)
    context.async_run(fp32(0.2), ONE)
    gone = weakref.ref(context)
    del context
    gc.collect()
    with InferContext(triton.url(protocol), protocol, "simple") as other:
        assert other.run(add_sub(), BOTH)["OUTPUT0"][0].tolist() == SUM
    assert collected(gone)


def executed(triton: Any, model: str) -> int:
    status = ServerStatusContext(triton.grpc, 1, model).get_server_status()
    return int(status.model_status[model].version_status[1].model_inference_count)


def test_garbage_collection_of_a_stream_in_flight(start_triton: Any) -> None:
    """``__del__`` of a streaming context sends what was accepted, and waits for no reply."""
    # docs/v1-behaviour.md §5: the collector may run in the midst of gRPC, in the thread that
    # would bring them.
    server = start_triton(["slow"])
    context = InferContext(server.grpc, 1, "slow", streaming=True)
    for seconds in (5.0, 0.0, 0.0):
        context.async_run(fp32(seconds), ONE)
    del context
    gc.collect()
    assert executed(server, "slow") < 3
    wait_for(lambda: executed(server, "slow") == 3)

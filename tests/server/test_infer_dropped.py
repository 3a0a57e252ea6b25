"""Contexts that nobody holds any more: ``__del__`` (docs/v1-behaviour.md §5, §6)."""

from __future__ import annotations

import gc
import time
import weakref
from typing import Any

import pytest

from tensorrtserver.api import InferContext, ServerStatusContext
from tests.server.infer_cases import BOTH, ONE, PATIENCE, SUM, Completions, add_sub, fp32

pytest_plugins = ["tests.server.infer_fixtures"]


def test_context_that_was_never_made() -> None:
    """__del__: an object without constructor goes without a sound (docs/v1-behaviour.md §6)."""
    context = InferContext.__new__(InferContext)
    context.__del__()
    assert context.close() is None


class Announcing(InferContext):
    """Releases something of its own in close()."""

    said: list[str] = []

    def close(self) -> None:
        self.said.append("closing")
        InferContext.close(self)


def test_garbage_collection_through_close(url: str, protocol: int) -> None:
    """__del__: it calls close(), also a subclass's, and also after a close()."""
    # docs/v1-behaviour.md §6
    context = Announcing(url, protocol, "simple")
    Announcing.said.clear()
    session = weakref.ref(context._ctx)
    context.close()
    del context
    gc.collect()
    assert Announcing.said == ["closing", "closing"]
    assert session() is None


def test_garbage_collection(url: str, protocol: int) -> None:
    """__del__: a context that nobody holds is closed; many, made and dropped."""
    # docs/v1-behaviour.md §6
    contexts = [InferContext(url, protocol, "simple") for _ in range(20)]
    for context in contexts:
        context.run(add_sub(), BOTH)
    sessions = [weakref.ref(context._ctx) for context in contexts]
    del contexts, context
    gc.collect()
    assert [session() for session in sessions] == [None] * 20


def collected(gone: Any) -> bool:
    """Does the garbage collector get it in the end?"""
    deadline = time.monotonic() + PATIENCE
    while gone() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    return gone() is None


def test_garbage_collection_with_callbacks(url: str, protocol: int) -> None:
    """__del__: used asynchronously, fetched or not, a context can still go."""
    # docs/v1-behaviour.md §6
    context, done = InferContext(url, protocol, "simple"), Completions()
    for _ in range(3):
        context.async_run(lambda given, request_id: done(None, request_id), add_sub(), BOTH)
    context.get_async_run_results(done.wait(3)[0])
    gone = weakref.ref(context)
    del context
    assert collected(gone)


@pytest.mark.parametrize("streaming", [False, True])
def test_garbage_collection_in_flight(triton: Any, protocol: int, streaming: bool) -> None:
    """__del__ with requests in flight: no hang, no noise, others are not disturbed."""
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


def test_garbage_collection_of_a_stream_in_flight(triton: Any) -> None:
    """__del__, streaming: the server gets what was sent; nobody waits for the answers."""
    # docs/v1-behaviour.md §5: the collector may run in the midst of gRPC, in the thread that
    # would bring them.
    before = executed(triton, "slow")
    context = InferContext(triton.grpc, 1, "slow", streaming=True)
    for seconds in (5.0, 0.0, 0.0):
        context.async_run(fp32(seconds), ONE)
    started = time.monotonic()
    del context
    gc.collect()
    assert time.monotonic() - started < 4
    deadline = time.monotonic() + PATIENCE
    while executed(triton, "slow") < before + 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert executed(triton, "slow") >= before + 3

"""Contexts that another thread, or a signal's handler, closes at any moment of a call."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelControlContext,
    ModelRepositoryContext,
    ServerHealthContext,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from tests.conftest import Connect
from tests.infer_cases import ONE, PATIENCE, add_sub

#: Contexts without a model, and a call of each.
CONTROL: dict[Any, Callable[[Any], Any]] = {
    ServerHealthContext: lambda context: context.is_live(),
    ServerStatusContext: lambda context: context.get_server_status(),
    ModelRepositoryContext: lambda context: context.get_model_repository_index(),
    ModelControlContext: lambda context: context.unload("no such model"),
    SharedMemoryControlContext: lambda context: context.get_shared_memory_status(),
}


class ClosedOnRead:
    """The attribute ``_ctx`` of a context that is closed right after the attribute is read.

    Any other thread may do so between two reads of it.
    """

    def __init__(self, session: Any) -> None:
        self.session = session

    def __get__(self, context: Any, _: Any) -> Any:
        session, self.session = self.session, None
        if session is not None:
            session.close()
        return session

    def __set__(self, context: Any, session: Any) -> None:
        self.session = session


def closed_on_read(context: Any) -> Any:
    """Return the context; the next read of its session closes it."""
    session = context.__dict__.pop("_ctx")
    context.__class__ = type("Closing", (type(context),), {"_ctx": ClosedOnRead(session)})
    return context


def calls_of(context: InferContext) -> Iterator[Callable[[], Any]]:
    """Yield calls of an InferContext."""
    yield lambda: context.run(add_sub(), ONE)
    yield lambda: context.async_run(add_sub(), ONE)
    yield lambda: context.async_run(lambda *_: None, add_sub(), ONE)
    yield lambda: context.get_async_run_results(1)
    yield lambda: context.get_ready_async_request(True)


@pytest.mark.parametrize("number", range(5))
def test_infer_contexts(connect: Connect, number: int) -> None:
    """A call of an InferContext that is closed meanwhile raises v1's error of closed contexts."""
    context = connect("simple")
    context.run(add_sub(), ONE)
    call = [*calls_of(closed_on_read(context))][number]
    with pytest.raises(InferenceServerException) as caught:
        call()
    assert str(caught.value) == "[ 0] InferContext is closed"


def test_the_correlation_id_of_a_context_that_is_closed_meanwhile(connect: Connect) -> None:
    """The correlation id can be read while the context is closed."""
    assert closed_on_read(connect("simple", correlation_id=7)).correlation_id() == 7


@pytest.mark.parametrize("kind", CONTROL, ids=lambda kind: kind.__name__)
def test_control_contexts(url: str, protocol: int, kind: Any) -> None:
    """A call of any other context that is closed meanwhile raises v1's error, and opens nothing."""
    for used in (False, True):
        context = kind(url, protocol)
        if used:
            CONTROL[kind](context)
        session = context._ctx
        with pytest.raises(InferenceServerException) as caught:
            CONTROL[kind](closed_on_read(context))
        assert str(caught.value) == f"[ 0] {kind.__name__} is closed"
        assert "backend" not in vars(session)


def test_threads_that_use_a_context_while_it_is_closed(connect: Connect) -> None:
    """Threads in the midst of requests get results, or v1's error of closed contexts."""
    errors: list[BaseException] = []

    def use(context: InferContext) -> None:
        try:
            while True:
                context.run(add_sub(), ONE)
        except BaseException as error:
            errors.append(error)

    for _ in range(10):
        context = connect("simple")
        threads = [threading.Thread(target=use, args=(context,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        context.run(add_sub(), ONE)
        context.close()
        for thread in threads:
            thread.join(PATIENCE)
    assert {str(error) for error in errors} == {"[ 0] InferContext is closed"}
    assert len(errors) == 40

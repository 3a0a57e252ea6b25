"""Callbacks that raise: each runs once, and disturbs no other callback, whatever stderr is."""

from __future__ import annotations

import io
import sys
import threading
from functools import partial
from typing import Any, Callable

import numpy as np
import pytest

from tensorrtserver.api import InferContext
from testbed import TritonServer
from tests.infer_cases import ONE, Completions
from tests.reliability.fuzzing import no_thread_more
from tests.reliability.identified_calls import KINDS, STYLES, ask, numbers
from tests.reliability.odd_exceptions import EXCEPTIONS

INPUTS = {"INPUT0": [np.arange(16, dtype=np.int32)]}


def _closed() -> Any:
    """Return a stream that raises an error when it is written to."""
    stream = io.StringIO()
    stream.close()
    return stream


#: Functions by name. Each makes a replacement of ``sys.stderr``.
STREAMS: dict[str, Callable[[], Any]] = {
    "memory": io.StringIO,
    "none": lambda: None,
    "closed": _closed,
    "ASCII": lambda: io.TextIOWrapper(io.BytesIO(), "ascii"),
    "no stream": object,
}


def recursing(context: InferContext, number: int) -> None:
    """Call itself until Python stops it."""
    recursing(context, number)


def fetching_twice(context: InferContext, number: int) -> None:
    """Fetch the result twice. The second fetch fails."""
    for _ in range(2):
        context.get_async_run_results(number)


def _raise(make: Callable[[], BaseException], context: InferContext, number: int) -> None:
    raise make()


ACTIONS: list[Callable[..., Any]] = [recursing, fetching_twice]
ACTIONS += [partial(_raise, make) for make in EXCEPTIONS.values()]


def burst(context: InferContext) -> list[int]:
    """Send a request with each odd callback, and return the ids of the callbacks that ran."""
    done = Completions()

    def callback(act: Callable[..., Any], context: InferContext, number: int) -> None:
        done(context, number)
        act(context, number)

    for act in ACTIONS:
        context.async_run(partial(callback, act), INPUTS, ONE)
    done.wait(len(ACTIONS))
    assert [ask(context, style, next(numbers)).message for style in STYLES] == [""] * 3
    return [number for _, number in done.calls]


@pytest.mark.parametrize("kind", KINDS)
def test_callbacks(kind: str, triton: TritonServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Callbacks that raise do no harm over each protocol, whatever ``sys.stderr`` is."""
    # docs/v1-behaviour.md §5
    (protocol, streaming), threads = KINDS[kind], threading.active_count()
    with InferContext(
        triton.url(protocol), protocol, "identity_int32", streaming=streaming
    ) as context:
        for stream in STREAMS.values():
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stderr", stream())
                ids = burst(context)
            assert len(set(ids)) == len(ids) == len(ACTIONS)
    assert no_thread_more(threads, len(ACTIONS))  # idle threads stay for some seconds

"""Callbacks that raise: each runs once, is reported on stderr, and disturbs no other callback."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorrtserver.api import InferContext
from testbed import TritonServer
from tests.reliability.amounts import amount
from tests.reliability.counts import Tried
from tests.reliability.fuzzing import fuzzed, no_thread_more
from tests.reliability.odd_callbacks import CALLABLES, EXCEPTIONS, STREAMS, raising

CALLBACKS = "A callback that raises anything comes once, and all others and the context go on"
ARRAY = np.arange(16, dtype=np.int32)
INPUTS, OUTPUTS = {"INPUT0": [ARRAY], "INPUT1": [ARRAY]}, {"OUTPUT0": InferContext.ResultFormat.RAW}
PATIENCE = 20.0


class Calls:
    """A count of the callbacks of a burst of requests."""

    def __init__(self, number: int) -> None:
        self._left = threading.Semaphore(0)
        self._number = number
        self.places: list[int] = []

    def of(self, place: int) -> Any:
        """Return a callback that counts this request."""

        def come() -> None:
            self.places.append(place)
            self._left.release()

        return come

    def wait(self) -> None:
        """Wait for all callbacks."""
        for _ in range(self._number):
            assert self._left.acquire(timeout=PATIENCE), (
                f"only {self.places} of {self._number} came"
            )


odd_callbacks = st.one_of(
    st.sampled_from(list(EXCEPTIONS)).map(
        lambda name: lambda report_call: raising(EXCEPTIONS[name], report_call)
    ),
    st.sampled_from(CALLABLES),
)


def well(context: InferContext) -> None:
    """Check a call without callback, and a call with a good callback."""
    fetched: list[Any] = []
    done = threading.Event()

    def good(callback_context: InferContext, number: int) -> None:
        fetched.append(callback_context.get_async_run_results(number)["OUTPUT0"][0])
        done.set()

    context.async_run(good, INPUTS, OUTPUTS)
    assert done.wait(PATIENCE), "no callback"
    fetched.append(context.run(INPUTS, OUTPUTS)["OUTPUT0"][0])
    for result in fetched:
        np.testing.assert_array_equal(result, ARRAY + ARRAY)


@fuzzed("callbacks that raise", 3)
@given(data=st.data())
def _callbacks(context: InferContext, monkeypatch: pytest.MonkeyPatch, data: Any) -> None:
    chosen = data.draw(st.lists(odd_callbacks, min_size=1, max_size=4))
    stream = data.draw(st.sampled_from(list(STREAMS)))
    calls = Calls(len(chosen))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", STREAMS[stream]())
        for place, result in enumerate(chosen):
            context.async_run(result(calls.of(place)), INPUTS, OUTPUTS)
        calls.wait()
        well(context)
    assert sorted(calls.places) == list(range(len(chosen)))


@pytest.mark.parametrize("kind", ["http", "grpc", "stream"])
def test_callbacks(
    kind: str, triton: TritonServer, monkeypatch: pytest.MonkeyPatch, tried: Tried
) -> None:
    """Callbacks that raise do no harm over each protocol, whatever ``sys.stderr`` is."""
    # docs/v1-behaviour.md §5
    protocol, before = 0 if kind == "http" else 1, threading.active_count()
    with InferContext(
        triton.url(protocol), protocol, "simple", streaming=kind == "stream"
    ) as context:
        _callbacks(context, monkeypatch)
    assert no_thread_more(before, 4)
    tried(CALLBACKS, amount("callbacks that raise") // 3, "bursts of callbacks")

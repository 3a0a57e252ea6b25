"""Inputs, formats and checks of errors for the tests of InferContext."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException

RAW = InferContext.ResultFormat.RAW
CLASS = InferContext.ResultFormat.CLASS
START, END = 1, 2
BOTH = {"OUTPUT0": RAW, "OUTPUT1": RAW}
ONE = {"OUTPUT0": RAW}
RAMP = np.arange(16, dtype=np.int32)
SUM = (RAMP * 2).tolist()

#: Seconds that a test waits for an event before it fails.
PATIENCE = 60.0


def add_sub(batch_size: int = 1, left: Any = RAMP, right: Any = RAMP) -> dict[str, Any]:
    """Return inputs of the add/sub models: equal arrays for each batch entry."""
    return {"INPUT0": [left] * batch_size, "INPUT1": [right] * batch_size}


def fp32(*values: float) -> dict[str, Any]:
    """Return INPUT0 of a model with one FP32[1] input: a batch entry for each value."""
    return {"INPUT0": [np.array([value], np.float32) for value in values]}


def int32(value: int) -> dict[str, Any]:
    """Return INPUT of a sequence model."""
    return {"INPUT": [np.array([value], np.int32)]}


def number(results: Any, output: str = "OUTPUT0") -> float:
    """Return the single number of a one-entry result."""
    value: float = results[output][0].item()
    return value


@contextmanager
def client_error(message: str) -> Iterator[None]:
    """Check that the block raises a client error with exactly this message."""
    # docs/v1-behaviour.md §0.1, §1.6
    with pytest.raises(InferenceServerException) as caught:
        yield
    assert str(caught.value) == f"[ 0] {message}"
    assert (caught.value.message(), caught.value.server_id()) == (message, "")
    assert caught.value.request_id() == 0


@contextmanager
def server_error(beginning: str) -> Iterator[None]:
    """Check that the block raises an error of the session's server that starts with this text."""
    # docs/v1-behaviour.md §1.6
    assert beginning, "every message begins so"
    with pytest.raises(InferenceServerException) as caught:
        yield
    message = caught.value.message()
    assert message is not None
    assert message.startswith(beginning), message
    assert caught.value.server_id() == "triton"
    assert caught.value.request_id() > 0
    assert str(caught.value) == f"[triton {caught.value.request_id()}] {message}"


def wait_for(condition: Callable[[], object]) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "what the test waits for does not come"
        time.sleep(0.01)


class Completions:
    """A callback that records its arguments and its thread."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, int]] = []
        self.threads: list[int] = []
        self._changed = threading.Condition()

    def __call__(self, context: Any, request_id: int) -> str:
        with self._changed:
            self.calls.append((context, request_id))
            self.threads.append(threading.get_ident())
            self._changed.notify_all()
        return "ignored"

    def wait(self, count: int = 1) -> list[int]:
        """Return the ids in the order of the calls, as soon as there are ``count``."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self.calls) >= count, PATIENCE)
        assert arrived, f"only {len(self.calls)} of {count} callbacks were called"
        return [request_id for _, request_id in self.calls]

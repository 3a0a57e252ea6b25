"""Calls with unique payloads, in each style, and their outcomes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from itertools import count
from typing import Any, Callable, TypeVar

import numpy as np

from tensorrtserver.api import InferContext, InferenceServerException

SIZE = 12_000  # elements, four bytes each
MARK = 0x5A17C0DE
PATIENCE = 60.0
OUTPUTS = {"OUTPUT0": InferContext.ResultFormat.RAW}

#: Each payload has its own number in the whole run.
numbers = count(1)

#: The ways to request a result.
STYLES = ("sync", "callback", "id")
#: The protocol of each kind of context, and whether it streams.
KINDS = {"http": (0, False), "grpc": (1, False), "stream": (1, True)}


def payload(number: int, size: int = SIZE) -> Any:
    """Return an array that no other call has. Its last two elements mark its end."""
    result = np.full(size, number, np.int32)
    result[-2:] = MARK, number
    return result


def marker(number: int) -> bytes:
    """Return the last bytes of a request with this payload."""
    return bytes(payload(number, 2).tobytes())


T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """Do the work on a thread of its own. Return or raise its outcome. Fail if it hangs."""
    future: Future[T] = Future()

    def body() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # the test's thread raises it
            future.set_exception(error)

    threading.Thread(target=body, daemon=True).start()
    return future.result(seconds)


class Outcome:
    """The outcome of a call: ``result`` or ``error``, ``seconds``, and number of ``callbacks``."""

    def __init__(self) -> None:
        self.result: Any = None
        self.error: InferenceServerException | None = None
        self.seconds = 0.0
        self.callbacks: list[int] = []
        self.expected_callbacks = 0

    @property
    def message(self) -> str:
        """Return the error's text; empty for a result."""
        return "" if self.error is None else str(self.error.message())


def ask(context: InferContext, style: str, number: int, size: int = SIZE) -> Outcome:
    """Make one call of ``identity_int32`` and wait for its end."""
    data = payload(number, size)
    outcome = in_style(context, style, {"INPUT0": [data]})
    if outcome.error is None:
        np.testing.assert_array_equal(outcome.result, data, "another's answer")
    return outcome


def ask_until(
    context: InferContext, style: str, wanted: Callable[[str], bool], tries: int = 50
) -> Outcome:
    """Repeat a call until its message is a wanted one, for some seconds."""
    for _ in range(tries):
        outcome = ask(context, style, next(numbers))
        if wanted(outcome.message):
            break
        time.sleep(0.1)
    return outcome


def in_style(context: InferContext, style: str, inputs: Any) -> Outcome:
    """Make one call with these inputs and wait for its end."""
    outcome, begun = Outcome(), time.monotonic()
    try:
        outcome.result = _STYLES[style](context, inputs, outcome)["OUTPUT0"][0]
    except InferenceServerException as error:
        outcome.error = error
    outcome.seconds = time.monotonic() - begun
    return outcome


def _sync(context: InferContext, inputs: Any, outcome: Outcome) -> Any:
    return context.run(inputs, OUTPUTS)


def _callback(context: InferContext, inputs: Any, outcome: Outcome) -> Any:
    done = threading.Event()

    def callback(_context: InferContext, request_id: int) -> None:
        outcome.callbacks.append(request_id)
        done.set()

    context.async_run(callback, inputs, OUTPUTS)
    outcome.expected_callbacks = 1  # from here on: a refused request has no callback
    assert done.wait(PATIENCE), "no callback"
    return context.get_async_run_results(outcome.callbacks[0])


def _id(context: InferContext, inputs: Any, outcome: Outcome) -> Any:
    request_id = context.async_run(inputs, OUTPUTS)
    return context.get_async_run_results(request_id, True)


_STYLES = {"sync": _sync, "callback": _callback, "id": _id}

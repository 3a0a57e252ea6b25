"""async_run with a callback, 1.8 and later (docs/v1-behaviour.md §5)."""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.server.infer_cases import (
    BOTH,
    ONE,
    PATIENCE,
    RAMP,
    RAW,
    SUM,
    Completions,
    add_sub,
    client_error,
    fp32,
    number,
)

pytest_plugins = ["tests.server.infer_fixtures"]

UNKNOWN = "The request ID doesn't match any existing asynchronous requests"


def test_results_after_the_callback(connect: Any) -> None:
    """async_run returns None; the callback gets the very context and a native int."""
    # docs/v1-behaviour.md §5
    context, done = connect("simple"), Completions()
    assert context.async_run(done, add_sub(), BOTH) is None
    assert done.wait() == [1]
    assert done.calls[0][0] is context
    assert type(done.calls[0][1]) is int
    assert context.get_async_run_results(1)["OUTPUT0"][0].tolist() == SUM


@pytest.mark.smoke
def test_results_inside_the_callback(connect: Any) -> None:
    """Results can be fetched inside the callback (docs/v1-behaviour.md §5)."""
    context, done, fetched = connect("simple"), Completions(), []

    def callback(given: InferContext, request_id: int) -> None:
        fetched.append(given.get_async_run_results(request_id))
        done(given, request_id)

    context.async_run(callback, add_sub(), BOTH)
    done.wait()
    assert fetched[0]["OUTPUT0"][0].tolist() == SUM


def test_results_on_another_thread(connect: Any) -> None:
    """Results can be fetched later from any thread (docs/v1-behaviour.md §5)."""
    context, done, fetched = connect("simple"), Completions(), []
    context.async_run(done, add_sub(), BOTH)
    (request_id,) = done.wait()
    thread = threading.Thread(
        target=lambda: fetched.append(context.get_async_run_results(request_id))
    )
    thread.start()
    thread.join(PATIENCE)
    assert fetched[0]["OUTPUT0"][0].tolist() == SUM


@pytest.mark.parametrize(
    "arguments",
    [
        ((), {"inputs": add_sub(), "outputs": BOTH, "batch_size": 1}),
        ((add_sub(), BOTH, 1, 0, 0, 0, 0), {}),
        ((add_sub(), BOTH), {"flags": 0, "corr_id": 9, "priority": 1, "timeout_us": 10}),
        ((add_sub(2), BOTH, np.int64(2)), {}),
    ],
)
def test_call_shapes(connect: Any, arguments: Any) -> None:
    """async_run: positional and keyword, with the callback in either way."""
    # docs/v1-behaviour.md §2.1
    positional, keywords = arguments
    context, done = connect("simple"), Completions()
    if positional:
        context.async_run(done, *positional, **keywords)
    else:
        context.async_run(callback=done, **keywords)
    results = context.get_async_run_results(*done.wait())
    assert results["OUTPUT0"][0].tolist() == SUM


def test_partial_and_method(connect: Any) -> None:
    """partial(cb, …), bound methods and lambdas are callbacks (docs/v1-behaviour.md §F.2)."""
    context, done = connect("simple"), Completions()

    def with_data(data: list[Any], given: InferContext, request_id: int) -> None:
        data.append(request_id)
        done(given, request_id)

    seen: list[int] = []
    context.async_run(functools.partial(with_data, seen), add_sub(), BOTH)
    context.async_run(done.__call__, add_sub(), BOTH)
    context.async_run(lambda given, request_id: done(given, request_id), add_sub(), BOTH)
    assert sorted(done.wait(3)) == [1, 2, 3]
    assert seen == [1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((), TypeError), ((print,), TypeError), ((print, add_sub()), TypeError)],
)
def test_missing_arguments(connect: Any, arguments: Any, error: type[Exception]) -> None:
    """Callback, inputs and outputs are required (docs/v1-behaviour.md §2.1)."""
    with pytest.raises(error, match="required positional argument"):
        connect("simple").async_run(*arguments)


@pytest.mark.smoke
def test_refused_calls_are_raised(connect: Any) -> None:
    """Validation errors are raised by async_run, no callback, no id consumed."""
    # docs/v1-behaviour.md §5
    context, done = connect("simple"), Completions()
    with client_error("unknown output 'NOPE' for 'simple'"):
        context.async_run(done, add_sub(), {"NOPE": RAW})
    with client_error("run batch-size 9 exceeds maximum batch size 8 allowed for model 'simple'"):
        context.async_run(done, add_sub(), BOTH, 9)
    with client_error("expecting 1 invocations of SetRaw for input 'INPUT1', have 0"):
        context.async_run(done, {"INPUT0": [RAMP]}, BOTH)
    with pytest.raises(ctypes.ArgumentError, match="wrong type"):
        context.async_run(done, add_sub(), BOTH, "1")
    context.async_run(done, add_sub(), BOTH)
    assert done.wait() == [1]
    assert len(done.calls) == 1


def test_failures_reach_the_fetch(connect: Any) -> None:
    """The callback fires for failures too; the error comes from the fetch, once."""
    # docs/v1-behaviour.md §5
    context, done = connect("failing"), Completions()
    context.async_run(done, fp32(3), ONE)
    (request_id,) = done.wait()
    with pytest.raises(InferenceServerException) as caught:
        context.get_async_run_results(request_id)
    assert caught.value.message() == "the model refused value 3"
    assert caught.value.server_id() == "triton"
    with client_error(UNKNOWN):
        context.get_async_run_results(request_id)


@pytest.mark.parametrize("request_id", [0, -1, 1, 99, 2**64 + 7, True, np.int64(5)])
def test_unknown_ids(connect: Any, request_id: Any) -> None:
    """Unknown id, 0, -1: v1's text (docs/v1-behaviour.md §5)."""
    with client_error(UNKNOWN):
        connect("simple").get_async_run_results(request_id)


@pytest.mark.parametrize("request_id", ["1", None, 1.0, [1]])
def test_id_of_a_wrong_type(connect: Any, request_id: Any) -> None:
    """Id of a wrong type: ctypes' error for argument 2 (docs/v1-behaviour.md §5)."""
    with pytest.raises(ctypes.ArgumentError) as caught:
        connect("simple").get_async_run_results(request_id)
    assert str(caught.value) == "argument 2: <class 'TypeError'>: wrong type"


@pytest.mark.parametrize("spelling", [int, np.int64, np.uint32, lambda i: i + 2**64])
def test_ids_are_integers(connect: Any, spelling: Any) -> None:
    """Id: any integer, 64 bits (docs/v1-behaviour.md §5)."""
    context, done = connect("simple"), Completions()
    context.async_run(done, add_sub(), BOTH)
    assert len(context.get_async_run_results(spelling(done.wait()[0]))) == 2


@pytest.mark.smoke
def test_fetched_once(connect: Any) -> None:
    """Results can be fetched once (docs/v1-behaviour.md §5)."""
    context, done = connect("simple"), Completions()
    context.async_run(done, add_sub(), BOTH)
    (request_id,) = done.wait()
    context.get_async_run_results(request_id)
    with client_error(UNKNOWN):
        context.get_async_run_results(request_id)


def test_id_in_flight_is_unknown(connect: Any) -> None:
    """The fetch of 1.8 never waits for a request with a callback."""
    # docs/v1-behaviour.md §5, §10.5.17
    context, done = connect("slow"), Completions()
    context.async_run(done, fp32(0.3), ONE)
    with client_error(UNKNOWN):
        context.get_async_run_results(1)
    assert done.wait() == [1]
    assert number(context.get_async_run_results(1)) == pytest.approx(0.3)

"""async_run with a callback, 1.8 and later (v1 §5)."""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any

import numpy as np
import pytest
from infer_cases import (
    BOTH,
    CLASS,
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

from tensorrtserver.api import InferContext, InferenceServerException

pytest_plugins = ["infer_fixtures"]

UNKNOWN = "The request ID doesn't match any existing asynchronous requests"


def test_results_after_the_callback(connect: Any) -> None:
    """v1 §5: async_run returns None; the callback gets the very context and a native int."""
    context, done = connect("simple"), Completions()
    assert context.async_run(done, add_sub(), BOTH) is None
    assert done.wait() == [1]
    assert done.calls[0][0] is context
    assert type(done.calls[0][1]) is int
    assert context.get_async_run_results(1)["OUTPUT0"][0].tolist() == SUM


def test_results_inside_the_callback(connect: Any) -> None:
    """v1 §5: results can be fetched inside the callback."""
    context, done, fetched = connect("simple"), Completions(), []

    def callback(given: InferContext, request_id: int) -> None:
        fetched.append(given.get_async_run_results(request_id))
        done(given, request_id)

    context.async_run(callback, add_sub(), BOTH)
    done.wait()
    assert fetched[0]["OUTPUT0"][0].tolist() == SUM


def test_results_on_another_thread(connect: Any) -> None:
    """v1 §5: results can be fetched later from any thread."""
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
    """v1 §2.1 async_run: positional and keyword, with the callback in either way."""
    positional, keywords = arguments
    context, done = connect("simple"), Completions()
    if positional:
        context.async_run(done, *positional, **keywords)
    else:
        context.async_run(callback=done, **keywords)
    results = context.get_async_run_results(*done.wait())
    assert results["OUTPUT0"][0].tolist() == SUM


def test_partial_and_method(connect: Any) -> None:
    """usage "Call shapes": partial(cb, …), bound methods and lambdas are callbacks."""
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
    """v1 §2.1: callback, inputs and outputs are required."""
    with pytest.raises(error, match="required positional argument"):
        connect("simple").async_run(*arguments)


def test_refused_calls_are_raised(connect: Any) -> None:
    """v1 §5: validation errors are raised by async_run, no callback, no id consumed."""
    context, done = connect("simple"), Completions()
    with client_error("unknown output 'NOPE' for 'simple'"):
        context.async_run(done, add_sub(), {"NOPE": RAW})
    with client_error("run batch-size 9 exceeds maximum batch size 8 allowed for model 'simple'"):
        context.async_run(done, add_sub(), BOTH, 9)
    with client_error("expecting 1 invocations of SetRaw for input 'INPUT1', have 0"):
        context.async_run(done, {"INPUT0": [RAMP]}, BOTH)
    with pytest.raises(ctypes.ArgumentError):
        context.async_run(done, add_sub(), BOTH, "1")
    context.async_run(done, add_sub(), BOTH)
    assert done.wait() == [1]
    assert len(done.calls) == 1


def test_failures_reach_the_fetch(connect: Any) -> None:
    """v1 §5: the callback fires for failures too; the error comes from the fetch, once."""
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
    """v1 §5 unknown id, 0, -1: v1's text."""
    with client_error(UNKNOWN):
        connect("simple").get_async_run_results(request_id)


@pytest.mark.parametrize("request_id", ["1", None, 1.0, [1]])
def test_id_of_a_wrong_type(connect: Any, request_id: Any) -> None:
    """v1 §5 id of a wrong type: ctypes' error for argument 2."""
    with pytest.raises(ctypes.ArgumentError) as caught:
        connect("simple").get_async_run_results(request_id)
    assert str(caught.value) == "argument 2: <class 'TypeError'>: wrong type"


@pytest.mark.parametrize("spelling", [int, np.int64, np.uint32, lambda i: i + 2**64])
def test_ids_are_integers(connect: Any, spelling: Any) -> None:
    """v1 §5 id: any integer, 64 bits."""
    context, done = connect("simple"), Completions()
    context.async_run(done, add_sub(), BOTH)
    assert len(context.get_async_run_results(spelling(done.wait()[0]))) == 2


def test_fetched_once(connect: Any) -> None:
    """v1 §5: results can be fetched once."""
    context, done = connect("simple"), Completions()
    context.async_run(done, add_sub(), BOTH)
    (request_id,) = done.wait()
    context.get_async_run_results(request_id)
    with client_error(UNKNOWN):
        context.get_async_run_results(request_id)


def test_id_in_flight_is_unknown(connect: Any) -> None:
    """v1 §5, trap 17: the fetch of 1.8 never waits for a request with a callback."""
    context, done = connect("slow"), Completions()
    context.async_run(done, fp32(0.3), ONE)
    with client_error(UNKNOWN):
        context.get_async_run_results(1)
    assert done.wait() == [1]
    assert number(context.get_async_run_results(1)) == pytest.approx(0.3)


def test_order_of_completion(connect: Any) -> None:
    """v1 §5 order: completion order, not send order; so requests really run at once."""
    context, done = connect("slow"), Completions()
    for seconds in (0.7, 0.4, 0.1):
        context.async_run(done, fp32(seconds), ONE)
    assert done.wait(3) == [3, 2, 1]


def test_one_thread_per_context(connect: Any) -> None:
    """v1 §5 callback thread: all callbacks of a context on one thread of its own."""
    contexts = [connect("simple"), connect("simple")]
    dones = [Completions(), Completions()]
    for context, done in zip(contexts, dones):
        for _ in range(5):
            context.async_run(done, add_sub(), BOTH)
    threads = [(done.wait(5), set(done.threads))[1] for done in dones]
    assert [len(idents) for idents in threads] == [1, 1]
    assert threads[0] != threads[1]
    assert threading.get_ident() not in threads[0] | threads[1]


def test_callbacks_do_not_overlap(connect: Any) -> None:
    """v1 §5: a slow callback delays later ones; the requests are in flight meanwhile."""
    context, done, gate = connect("simple"), Completions(), threading.Event()
    running: list[int] = []
    most: list[int] = []

    def callback(given: InferContext, request_id: int) -> None:
        running.append(request_id)
        most.append(len(running))
        if request_id == min(running):
            gate.wait(PATIENCE)
        running.remove(request_id)
        done(given, request_id)

    for _ in range(4):
        context.async_run(callback, add_sub(), BOTH)
    assert done.calls == []
    gate.set()
    done.wait(4)
    assert set(most) == {1}


def test_daemon_thread(connect: Any) -> None:
    """v1 §5: the callback thread is a daemon; no thread before the first async_run."""
    found: list[threading.Thread] = []
    done = Completions()
    context = connect("simple")

    def callback(given: InferContext, request_id: int) -> None:
        found.append(threading.current_thread())
        done(given, request_id)

    before = set(threading.enumerate())
    context.async_run(callback, add_sub(), BOTH)
    done.wait()
    assert found[0].daemon
    assert found[0] not in before


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
def test_exception_in_a_callback(
    connect: Any, capfd: pytest.CaptureFixture[str], kind: type[BaseException]
) -> None:
    """v1 §5: printed to stderr and swallowed; the results stay, the context goes on."""
    context, done = connect("simple"), Completions()

    def callback(given: InferContext, request_id: int) -> None:
        done(given, request_id)
        raise kind("what the callback raised")

    context.async_run(callback, add_sub(), BOTH)
    done.wait()
    assert len(context.get_async_run_results(1)) == 2
    context.async_run(done, add_sub(), BOTH)
    assert done.wait(2) == [1, 2]
    printed = capfd.readouterr().err
    assert "Traceback (most recent call last)" in printed
    assert f"{kind.__name__}: what the callback raised" in printed


def test_callback_of_wrong_arity(connect: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """v1 §5: a callback that cannot be called so is printed, too; its result stays fetchable."""
    context, done = connect("simple"), Completions()
    context.async_run(lambda: None, add_sub(), BOTH)  # type: ignore[misc]
    context.async_run(done, add_sub(), BOTH)
    assert done.wait() == [2]
    assert len(context.get_async_run_results(1, True)) == 2
    assert "TypeError" in capfd.readouterr().err


def test_callback_none(connect: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """v1 §2.3 async_run(None, …): sent, and a TypeError printed from the callback thread."""
    context, done = connect("simple"), Completions()
    assert context.async_run(None, add_sub(), BOTH) is None
    context.async_run(done, add_sub(), BOTH)
    done.wait()
    assert len(context.get_async_run_results(1, True)) == 2
    assert "TypeError: 'NoneType' object is not callable" in capfd.readouterr().err


def test_calls_inside_a_callback(connect: Any) -> None:
    """v1 §5: run() on the same and another context, and async_run(), work inside a callback."""
    context, other, done = connect("simple"), connect("simple_nobatch"), Completions()
    sums: list[Any] = []

    def callback(given: InferContext, request_id: int) -> None:
        sums.append(given.run(add_sub(), BOTH)["OUTPUT0"][0].tolist())
        sums.append(other.run(add_sub(), BOTH)["OUTPUT0"][0].tolist())
        given.async_run(done, add_sub(), BOTH)

    context.async_run(callback, add_sub(), BOTH)
    assert done.wait() == [2]
    assert sums == [SUM, SUM]


def test_chain_of_callbacks(connect: Any) -> None:
    """E.4: async_run inside a callback while the main thread is inside async_run loses nothing."""
    context, done, total = connect("simple"), Completions(), 40

    def again(given: InferContext, request_id: int) -> None:
        assert len(given.get_async_run_results(request_id)) == 2
        given.async_run(done, add_sub(), BOTH)

    for _ in range(total):
        context.async_run(again, add_sub(), BOTH)
    ids = done.wait(total)
    assert len(set(ids)) == total
    assert all(len(context.get_async_run_results(request_id)) == 2 for request_id in ids)


def test_formats_belong_to_requests(connect: Any) -> None:
    """App. A note, E.4: two requests with different formats on one context, each its own."""
    context, done = connect("simple"), Completions()
    formats = [{"OUTPUT0": RAW}, {"OUTPUT0": (CLASS, 1)}, {"OUTPUT1": RAW}]
    for outputs in formats:
        context.async_run(done, add_sub(), outputs)
    done.wait(3)
    assert context.get_async_run_results(1)["OUTPUT0"][0].tolist() == SUM
    assert context.get_async_run_results(2) == {"OUTPUT0": [[(15, 30.0, "")]]}
    assert list(context.get_async_run_results(3)) == ["OUTPUT1"]


def test_inputs_are_read_at_once(connect: Any) -> None:
    """v1 §5 input memory: arrays changed after async_run do not change the request."""
    context, done = connect("slow"), Completions()
    inputs = fp32(0.2)
    small = np.arange(16, dtype=np.int32)
    context.async_run(done, inputs, ONE)
    inputs["INPUT0"][0][0] = 0
    assert number(context.get_async_run_results(*done.wait())) == pytest.approx(0.2)
    simple, done = connect("simple"), Completions()
    for _ in range(20):
        small[:] = RAMP
        simple.async_run(done, add_sub(1, small, small), BOTH)
        small[:] = 0
    for request_id in done.wait(20):
        assert simple.get_async_run_results(request_id)["OUTPUT0"][0].tolist() == SUM


def test_thousand_requests(connect: Any) -> None:
    """issue 2 async: a thousand requests in flight on one context, each with its own answer."""
    context, done, total = connect("identity_int32"), Completions(), 1000
    for value in range(1, total + 1):
        context.async_run(done, {"INPUT0": [np.array([value], np.int32)]}, ONE)
    ids = done.wait(total)
    assert sorted(ids) == list(range(1, total + 1))
    assert all(number(context.get_async_run_results(i)) == i for i in reversed(ids))


def test_labels_of_async_classes(connect: Any) -> None:
    """v1 §4.2, §5: labels are there for asynchronous requests, fetched inside the callback too."""
    context, done, found = connect("classify"), Completions(), []

    def callback(given: InferContext, request_id: int) -> None:
        found.append(given.get_async_run_results(request_id))
        done(given, request_id)

    scores = np.eye(10, dtype=np.float32)[3]
    context.async_run(callback, {"INPUT": [scores]}, {"OUTPUT": (CLASS, 1)})
    done.wait()
    assert found == [{"OUTPUT": [[(3, 1.0, "a:b c")]]}]

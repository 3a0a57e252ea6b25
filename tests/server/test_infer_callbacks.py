"""Callbacks: their thread, their order, what they may do (docs/v1-behaviour.md §5)."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext
from tests.server.infer_cases import (
    BOTH,
    CLASS,
    ONE,
    PATIENCE,
    RAMP,
    RAW,
    SUM,
    Completions,
    add_sub,
    fp32,
    number,
)

pytest_plugins = ["tests.server.infer_fixtures"]


@pytest.mark.smoke
def test_order_of_completion(connect: Any) -> None:
    """Order: completion order, not send order; so requests really run at once."""
    # docs/v1-behaviour.md §5
    context, done = connect("slow"), Completions()
    for seconds in (0.7, 0.4, 0.1):
        context.async_run(done, fp32(seconds), ONE)
    assert done.wait(3) == [3, 2, 1]


def test_one_thread_per_context(connect: Any) -> None:
    """Callback thread: all callbacks of a context on one thread of its own."""
    # docs/v1-behaviour.md §5
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
    """A slow callback delays later ones; the requests are in flight meanwhile."""
    # docs/v1-behaviour.md §5
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
    """The callback thread is a daemon; no thread before the first async_run."""
    # docs/v1-behaviour.md §5
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
@pytest.mark.smoke
def test_exception_in_a_callback(
    connect: Any, capfd: pytest.CaptureFixture[str], kind: type[BaseException]
) -> None:
    """Printed to stderr and swallowed; the results stay, the context goes on."""
    # docs/v1-behaviour.md §5
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
    """A callback that cannot be called so is printed, too; its result stays fetchable."""
    # docs/v1-behaviour.md §5
    context, done = connect("simple"), Completions()
    context.async_run(lambda: None, add_sub(), BOTH)
    assert len(context.get_async_run_results(1, True)) == 2
    context.async_run(done, add_sub(), BOTH)  # its callback comes after the other one's
    assert done.wait() == [2]
    assert "TypeError" in capfd.readouterr().err


def test_callback_none(connect: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """async_run(None, …): sent, and a TypeError printed from the callback thread."""
    # docs/v1-behaviour.md §2.3
    context, done = connect("simple"), Completions()
    assert context.async_run(None, add_sub(), BOTH) is None
    assert len(context.get_async_run_results(1, True)) == 2
    context.async_run(done, add_sub(), BOTH)  # its callback comes after the other one's
    done.wait()
    assert "TypeError: 'NoneType' object is not callable" in capfd.readouterr().err


def test_calls_inside_a_callback(connect: Any) -> None:
    """run() on the same and another context, and async_run(), work inside a callback."""
    # docs/v1-behaviour.md §5
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
    """async_run inside a callback while the main thread is inside async_run loses nothing."""
    # docs/v1-behaviour.md §E.4
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
    """Two requests with different formats on one context, each its own."""
    # docs/v1-behaviour.md §A, §E.4
    context, done = connect("simple"), Completions()
    formats = [{"OUTPUT0": RAW}, {"OUTPUT0": (CLASS, 1)}, {"OUTPUT1": RAW}]
    for outputs in formats:
        context.async_run(done, add_sub(), outputs)
    done.wait(3)
    assert context.get_async_run_results(1)["OUTPUT0"][0].tolist() == SUM
    assert context.get_async_run_results(2) == {"OUTPUT0": [[(15, 30.0, "")]]}
    assert list(context.get_async_run_results(3)) == ["OUTPUT1"]


@pytest.mark.smoke
def test_inputs_are_read_at_once(connect: Any) -> None:
    """Input memory: arrays changed after async_run do not change the request."""
    # docs/v1-behaviour.md §5
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
    """A thousand requests in flight on one context, each with its own answer."""
    context, done, total = connect("identity_int32"), Completions(), 1000
    for value in range(1, total + 1):
        context.async_run(done, {"INPUT0": [np.array([value], np.int32)]}, ONE)
    ids = done.wait(total)
    assert sorted(ids) == list(range(1, total + 1))
    assert all(number(context.get_async_run_results(i)) == i for i in reversed(ids))


def test_labels_of_async_classes(connect: Any) -> None:
    """Labels are there for asynchronous requests, fetched inside the callback too."""
    # docs/v1-behaviour.md §4.2, §5
    context, done, found = connect("classify"), Completions(), []

    def callback(given: InferContext, request_id: int) -> None:
        found.append(given.get_async_run_results(request_id))
        done(given, request_id)

    scores = np.eye(10, dtype=np.float32)[3]
    context.async_run(callback, {"INPUT": [scores]}, {"OUTPUT": (CLASS, 1)})
    done.wait()
    assert found == [{"OUTPUT": [[(3, 1.0, "a:b c")]]}]

"""Asynchronous requests by release, and their callbacks (docs/v1-behaviour.md §2.2, §2.3, §5).

The three ways to send and fetch, each of some releases, work together on one context.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from types import MappingProxyType
from typing import Any, Callable, NamedTuple

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.infer_cases import (
    BOTH,
    ONE,
    PATIENCE,
    RAMP,
    SUM,
    Completions,
    add_sub,
    client_error,
    fp32,
    number,
    wait_for,
)
from tests.relays import Relay

UNKNOWN = "The request ID doesn't match any existing asynchronous requests"
NONE_SENT = "No asynchronous requests have been sent"
ONLY_CALLBACKS = (
    "No asynchronous requests can be returned, all outstanding requests will signal "
    "completion via their callback function"
)


class Release(NamedTuple):
    """The calls of some releases that send a request and fetch its results."""

    send: Callable[..., Any]
    fetch: Callable[[InferContext, int], Any]
    returns_id: bool = False


def _by_id(context: InferContext, done: Completions, *arguments: Any) -> Any:
    """Send without a callback, and call ``done`` with the id."""
    request_id = context.async_run(*arguments)
    done(context, request_id)
    return request_id


RELEASES = {
    "1.0 to 1.7": Release(_by_id, lambda context, i: context.get_async_run_results(i, True), True),
    "1.4 to 1.7": Release(
        lambda context, done, *arguments: context.async_run_with_cb(done, *arguments),
        lambda context, i: context.get_async_run_results(i, True),
    ),
    "1.8 to 1.15": Release(
        lambda context, done, *arguments: context.async_run(done, *arguments),
        lambda context, i: context.get_async_run_results(i),
    ),
}


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> Release:
    """Return the calls of one period of releases."""
    return RELEASES[request.param]


# ---------------------------------------------------------------------------- of every release


@pytest.mark.smoke
def test_results(connect: Any, release: Release) -> None:
    """Ids count from 1.

    A callback gets its own context and a native int. Results are fetched once.
    """
    # docs/v1-behaviour.md §2.2, §5
    context, done = connect("simple"), Completions()
    returned = [release.send(context, done, add_sub(), BOTH, 1, 0) for _ in range(3)]
    assert sorted(done.wait(3)) == [1, 2, 3]
    assert returned == ([1, 2, 3] if release.returns_id else [None] * 3)
    assert all(owner is context and type(number) is int for owner, number in done.calls)
    for request_id in (2, 1, 3):
        assert release.fetch(context, request_id)["OUTPUT0"][0].tolist() == SUM
        with client_error(UNKNOWN):
            release.fetch(context, request_id)


def test_failures_reach_the_fetch(connect: Any, release: Release) -> None:
    """A failed request calls its callback too. The fetch raises the error, once."""
    # docs/v1-behaviour.md §2.2, §5
    context, done = connect("failing"), Completions()
    release.send(context, done, fp32(3), ONE)
    (request_id,) = done.wait()
    with pytest.raises(InferenceServerException, match="the model refused value 3") as caught:
        release.fetch(context, request_id)
    assert caught.value.server_id() == "triton"
    with client_error(UNKNOWN):
        release.fetch(context, request_id)


@pytest.mark.smoke
def test_refused_calls_are_raised(connect: Any, release: Release) -> None:
    """Validation errors are raised at once: no callback, no id consumed."""
    # docs/v1-behaviour.md §5
    context, done = connect("simple"), Completions()
    for arguments, error in (
        ((add_sub(), {"NOPE": (1,)}), "unknown output 'NOPE' for 'simple'"),
        ((add_sub(), BOTH, 9), "run batch-size 9 exceeds maximum batch size 8"),
        (({"INPUT0": [RAMP]}, BOTH), "expecting 1 invocations of SetRaw"),
        ((add_sub(), BOTH, "1"), "wrong type"),
    ):
        with pytest.raises((InferenceServerException, ctypes.ArgumentError), match=error):
            release.send(context, done, *arguments)
    release.send(context, done, add_sub(), BOTH)
    assert done.wait() == [1]


# ------------------------------------------------------------------------------- 1.0 to 1.7


@pytest.mark.parametrize(
    "arguments",
    [
        ((OrderedDict(add_sub()), MappingProxyType(BOTH), 1, 0), {}),
        ((add_sub(),), {"outputs": BOTH, "batch_size": 1}),
        ((), {"inputs": add_sub(), "outputs": BOTH, "flags": 0}),
    ],
)
def test_a_mapping_first_is_the_old_style(connect: Any, arguments: Any) -> None:
    """The first argument of async_run selects the style. A mapping selects the old style."""
    # docs/v1-behaviour.md §2.3
    positional, keywords = arguments
    context = connect("simple")
    request_id = context.async_run(*positional, **keywords)
    assert request_id == 1
    assert len(context.get_async_run_results(request_id, wait=True)) == 2


def test_not_waiting(url: str, protocol: int) -> None:
    """With wait False a pending request returns None and sets the last id to 0. Nothing is lost."""
    # docs/v1-behaviour.md §2.2: also for a request with a callback
    done = Completions()
    with Relay(url) as relay, InferContext(relay.address, protocol, "slow") as context:
        relay.replies.clear()
        old = context.async_run(fp32(0), ONE)
        context.async_run_with_cb(done, fp32(0), ONE)
        for request_id in (old, 2):
            for wait in (False, 0, None, ""):
                assert context.get_async_run_results(request_id, wait) is None
                assert context.get_last_request_id() == 0
        relay.replies.set()
        for request_id in (old, 2):
            assert number(context.get_async_run_results(request_id, True)) == 0
            assert (context.get_last_request_id() or 0) > 0
            with client_error(UNKNOWN):
                context.get_async_run_results(request_id, False)
        assert done.wait() == [2]


@pytest.mark.smoke
def test_ready(connect: Any) -> None:
    """get_ready_async_request returns the lowest finished id until its results are fetched."""
    # docs/v1-behaviour.md §2.2
    context = connect("slow")
    slow, first, second = (context.async_run(fp32(seconds), ONE) for seconds in (1.5, 0, 0))
    wait_for(lambda: context.get_ready_async_request(True) == first)
    for quick in (first, second):
        assert context.get_ready_async_request(True) == quick
        assert context.get_ready_async_request(False) == quick
        context.get_async_run_results(quick, False)
    assert context.get_ready_async_request(False) is None
    assert context.get_ready_async_request(True) == slow
    context.get_async_run_results(slow, True)


@pytest.mark.parametrize("wait", [True, False])
def test_nothing_to_be_ready(connect: Any, wait: bool) -> None:
    """get_ready_async_request never hangs: not without requests, and not with callbacks alone."""
    # docs/v1-behaviour.md §2.2
    context, done = connect("simple"), Completions()
    with client_error(NONE_SENT):
        context.get_ready_async_request(wait)
    context.async_run_with_cb(done, add_sub(), BOTH)
    done.wait()
    with client_error(ONLY_CALLBACKS):
        context.get_ready_async_request(wait)


def test_fetch_inside_a_callback(connect: Any) -> None:
    """Programs of 1.4 to 1.7 fetch with True inside a callback, also results of other requests."""
    # docs/v1-behaviour.md §2.2
    context, done, fetched = connect("slow"), Completions(), []

    def callback(callback_context: InferContext, request_id: int) -> None:
        for wanted in (request_id, request_id + 1):
            fetched.append(number(callback_context.get_async_run_results(wanted, True)))
        done(callback_context, request_id)

    context.async_run_with_cb(callback, fp32(0), ONE)
    context.async_run_with_cb(done, fp32(0.2), ONE)
    assert done.wait(2) == [1, 2]
    assert fetched == pytest.approx([0, 0.2])


# --------------------------------------------------------------------------------- callbacks


def test_callbacks_do_not_overlap(connect: Any) -> None:
    """A slow callback delays later callbacks; their requests are running meanwhile."""
    # docs/v1-behaviour.md §5
    context, done, gate = connect("simple"), Completions(), threading.Event()
    running: list[int] = []
    most: list[int] = []

    def callback(callback_context: InferContext, request_id: int) -> None:
        running.append(request_id)
        most.append(len(running))
        if request_id == min(running):
            gate.wait(PATIENCE)
        running.remove(request_id)
        done(callback_context, request_id)

    for _ in range(4):
        context.async_run(callback, add_sub(), BOTH)
    assert done.calls == []
    gate.set()
    done.wait(4)
    assert set(most) == {1}


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
@pytest.mark.smoke
def test_exception_in_a_callback(
    connect: Any, capfd: pytest.CaptureFixture[str], kind: type[BaseException]
) -> None:
    """An exception of a callback is printed to stderr.

    The results stay, and the context works on.
    """
    # docs/v1-behaviour.md §5
    context, done = connect("simple"), Completions()

    def callback(callback_context: InferContext, request_id: int) -> None:
        done(callback_context, request_id)
        raise kind("what the callback raised")

    context.async_run(callback, add_sub(), BOTH)
    done.wait()
    assert len(context.get_async_run_results(1)) == 2
    context.async_run(done, add_sub(), BOTH)
    assert done.wait(2) == [1, 2]
    printed = capfd.readouterr().err
    assert "Traceback (most recent call last)" in printed
    assert f"{kind.__name__}: what the callback raised" in printed


@pytest.mark.smoke
def test_inputs_are_read_at_once(connect: Any) -> None:
    """Arrays that the caller changes after async_run do not change the request."""
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


def test_thousand_requests(open_context: Any) -> None:
    """A thousand requests in flight on one context or stream each get their own reply."""
    context, done, total = open_context("identity_int32"), Completions(), 1000
    for value in range(1, total + 1):
        context.async_run(done, {"INPUT0": [np.array([value], np.int32)]}, ONE)
    ids = done.wait(total)
    assert sorted(ids) == list(range(1, total + 1))
    assert all(number(context.get_async_run_results(i)) == i for i in reversed(ids))

"""The asynchronous calls of 1.0 to 1.7 (docs/v1-behaviour.md §2.2, §2.3)."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.server.infer_cases import (
    BOTH,
    ONE,
    SUM,
    Completions,
    add_sub,
    client_error,
    fp32,
    number,
)
from tritonclient_shim.session.inference import Inference

pytest_plugins = ["tests.server.infer_fixtures"]

UNKNOWN = "The request ID doesn't match any existing asynchronous requests"
NONE_SENT = "No asynchronous requests have been sent"
ONLY_CALLBACKS = (
    "No asynchronous requests can be returned, all outstanding requests will signal "
    "completion via their callback function"
)


def test_ids(connect: Any) -> None:
    """async_run(inputs, outputs, …) returns the request id, from 1 (docs/v1-behaviour.md §2.2)."""
    context = connect("simple")
    ids = [context.async_run(add_sub(), BOTH, 1, 0) for _ in range(3)]
    assert ids == [1, 2, 3]
    for request_id in ids:
        results = context.get_async_run_results(request_id, True)
        assert results["OUTPUT0"][0].tolist() == SUM


@pytest.mark.parametrize(
    "arguments",
    [
        ((add_sub(), BOTH), {}),
        ((add_sub(), BOTH, 1), {}),
        ((OrderedDict(add_sub()), MappingProxyType(BOTH), 1, 0), {}),
        ((add_sub(),), {"outputs": BOTH, "batch_size": 1}),
        ((), {"inputs": add_sub(), "outputs": BOTH, "flags": 0}),
    ],
)
def test_call_shapes(connect: Any, arguments: Any) -> None:
    """The first argument tells the style, a mapping is the old one (docs/v1-behaviour.md §2.3)."""
    positional, keywords = arguments
    context = connect("simple")
    request_id = context.async_run(*positional, **keywords)
    assert request_id == 1
    assert len(context.get_async_run_results(request_id, wait=True)) == 2


@pytest.mark.parametrize("wait", [True, 1, "yes"])
@pytest.mark.smoke
def test_waiting(connect: Any, wait: Any) -> None:
    """wait True: blocks until done; any truth value (docs/v1-behaviour.md §2.2)."""
    context = connect("slow")
    request_id = context.async_run(fp32(0.2), ONE)
    assert number(context.get_async_run_results(request_id, wait)) == pytest.approx(0.2)


def test_waiting_without_wait(connect: Any) -> None:
    """wait left out: a request without callback is waited for (docs/v1-behaviour.md §2.3)."""
    context = connect("slow")
    assert number(context.get_async_run_results(context.async_run(fp32(0.2), ONE)))


@pytest.mark.parametrize("wait", [False, 0, None, ""])
def test_not_waiting(connect: Any, wait: Any) -> None:
    """wait False and not ready: None, the last request id is set to 0, nothing is lost."""
    # docs/v1-behaviour.md §2.2
    context = connect("slow")
    request_id = context.async_run(fp32(0.3), ONE)
    assert context.get_async_run_results(request_id, wait) is None
    assert context.get_last_request_id() == 0
    assert number(context.get_async_run_results(request_id, True)) == pytest.approx(0.3)
    assert context.get_last_request_id() > 0
    with client_error(UNKNOWN):
        context.get_async_run_results(request_id, wait)


@pytest.mark.parametrize("wait", [True, False])
def test_unknown_id(connect: Any, wait: bool) -> None:
    """An unknown or already fetched id; never a hang (docs/v1-behaviour.md §2.2)."""
    context = connect("simple")
    with client_error(UNKNOWN):
        context.get_async_run_results(1, wait)
    context.get_async_run_results(context.async_run(add_sub(), BOTH), True)
    with client_error(UNKNOWN):
        context.get_async_run_results(1, wait)


def test_failure(connect: Any) -> None:
    """The error of a request is raised by the fetch; the id is forgotten."""
    # docs/v1-behaviour.md §2.2
    context = connect("failing")
    request_id = context.async_run(fp32(3), ONE)
    with pytest.raises(InferenceServerException, match="the model refused value 3"):
        context.get_async_run_results(request_id, True)
    with client_error(UNKNOWN):
        context.get_async_run_results(request_id, True)


def test_fetched_in_any_order(connect: Any) -> None:
    """In-order waiting, and any other order (docs/v1-behaviour.md §2.2)."""
    context = connect("slow")
    ids = [context.async_run(fp32(seconds), ONE) for seconds in (0.3, 0.2, 0.1)]
    for request_id, seconds in zip(ids, (0.3, 0.2, 0.1)):
        assert number(context.get_async_run_results(request_id, True)) == pytest.approx(seconds)


@pytest.mark.smoke
def test_ready(connect: Any) -> None:
    """get_ready_async_request: a finished id, the same until it is fetched."""
    # docs/v1-behaviour.md §2.2
    context = connect("slow")
    slow, quick = context.async_run(fp32(0.5), ONE), context.async_run(fp32(0), ONE)
    assert context.get_ready_async_request(True) == quick
    assert context.get_ready_async_request(False) == quick
    context.get_async_run_results(quick, False)
    assert context.get_ready_async_request(False) is None
    assert context.get_ready_async_request(True) == slow
    context.get_async_run_results(slow, True)
    with client_error(NONE_SENT):
        context.get_ready_async_request(True)


def test_lowest_ready(connect: Any) -> None:
    """Of several finished requests the lowest id (docs/v1-behaviour.md §2.2)."""
    context, done = connect("slow"), Completions()
    first, second = (context.async_run(fp32(seconds), ONE) for seconds in (0.1, 0))
    context.async_run(done, fp32(0.3), ONE)
    done.wait()  # by now the other two have been answered
    assert context.get_ready_async_request(True) == first
    context.get_async_run_results(first, False)
    assert context.get_ready_async_request(True) == second


def test_polling(connect: Any) -> None:
    """Seen in the wild: polling get_ready_async_request(False) until all are there."""
    # docs/v1-behaviour.md §2.2
    context = connect("slow")
    values: dict[int, float] = {}
    sent = {context.async_run(fp32(seconds), ONE): seconds for seconds in (0.2, 0.1, 0.0)}
    while len(values) < 3:
        ready = context.get_ready_async_request(False)
        if ready is not None:
            values[ready] = number(context.get_async_run_results(ready, False))
    assert values == pytest.approx(sent)


@pytest.mark.parametrize("wait", [True, False])
def test_nothing_to_be_ready(connect: Any, wait: bool) -> None:
    """None outstanding, and only callback-style ones outstanding; never a hang."""
    # docs/v1-behaviour.md §2.2
    context, done = connect("simple"), Completions()
    with client_error(NONE_SENT):
        context.get_ready_async_request(wait)
    context.async_run_with_cb(done, add_sub(), BOTH)
    done.wait()
    with client_error(ONLY_CALLBACKS):
        context.get_ready_async_request(wait)


def test_async_run_with_cb(connect: Any) -> None:
    """async_run_with_cb: 1.4 to 1.7's name; returns None, one counter of ids."""
    # docs/v1-behaviour.md §2.2, §2.3
    context, done = connect("simple"), Completions()
    assert context.async_run_with_cb(done, add_sub(), BOTH, 1, 0) is None
    assert context.async_run(add_sub(), BOTH) == 2
    assert context.async_run_with_cb(callback=done, inputs=add_sub(), outputs=BOTH) is None
    assert sorted(done.wait(2)) == [1, 3]  # both were under way at once
    assert done.calls[0][0] is context
    for request_id in (1, 2, 3):
        assert len(context.get_async_run_results(request_id, True)) == 2


def test_fetch_inside_a_callback(connect: Any) -> None:
    """Scripts of 1.4 to 1.7 fetch with True inside the callback, other requests too."""
    # docs/v1-behaviour.md §2.2
    context, done, fetched = connect("slow"), Completions(), []

    def callback(given: InferContext, request_id: int) -> None:
        for wanted in (request_id, request_id + 1):
            fetched.append(number(given.get_async_run_results(wanted, True)))
        done(given, request_id)

    context.async_run_with_cb(callback, fp32(0), ONE)
    context.async_run_with_cb(done, fp32(0.2), ONE)
    assert done.wait(2) == [1, 2]
    assert fetched == pytest.approx([0, 0.2])


def test_wait_for_a_callback_request(connect: Any) -> None:
    """With ``wait`` given, a callback-style request in flight is known."""
    # docs/v1-behaviour.md §2.2
    context, done = connect("slow"), Completions()
    context.async_run_with_cb(done, fp32(0.3), ONE)
    assert context.get_async_run_results(1, False) is None
    assert number(context.get_async_run_results(1, True)) == pytest.approx(0.3)
    assert done.wait() == [1]


def test_refused_calls(connect: Any) -> None:
    """Validation errors are raised by async_run and take no id (docs/v1-behaviour.md §5)."""
    context = connect("simple")
    with client_error("unknown output 'NOPE' for 'simple'"):
        context.async_run(add_sub(), {"NOPE": (1,)})
    with client_error(NONE_SENT):
        context.get_ready_async_request(False)
    assert context.async_run(add_sub(), BOTH) == 1


def test_an_exception_before_the_request_is_sent(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a plugin raises while the request is made leaves none that could be waited for."""

    def failing(_self: Inference) -> Any:
        raise ValueError("the plugin's own")

    context = connect("simple")
    with monkeypatch.context() as patch:
        patch.setattr(Inference, "prepare", failing)
        with pytest.raises(ValueError, match="the plugin's own"):
            context.async_run(add_sub(), BOTH, 1, 0)
    with client_error(NONE_SENT):
        context.get_ready_async_request(False)

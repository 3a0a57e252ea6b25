"""get_last_request_*, request ids, get_stat (docs/v1-behaviour.md §4.4, §4.5, §4.6)."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.server.infer_cases import (
    BOTH,
    ONE,
    RAMP,
    RAW,
    Completions,
    add_sub,
    client_error,
    fp32,
    number,
    server_error,
)

pytest_plugins = ["tests.server.infer_fixtures"]

NONE = (None, None, None)
KEYS = {
    "completed_request_count",
    "cumulative_total_request_time_ns",
    "cumulative_send_time_ns",
    "cumulative_receive_time_ns",
}


def last(context: InferContext) -> tuple[Any, Any, Any]:
    return (
        context.get_last_request_id(),
        context.get_last_request_model_name(),
        context.get_last_request_model_version(),
    )


def completed(context: InferContext) -> int:
    return context.get_stat()["completed_request_count"]


@pytest.mark.smoke
def test_after_run(connect: Any) -> None:
    """run() ok: an id, the name, the version really used; native types."""
    # docs/v1-behaviour.md §4.4
    context = connect("multi_version")
    for _ in range(2):
        context.run(fp32(0), ONE)
        number_, name, version = last(context)
        assert (name, version) == ("multi_version", 3)
        assert [type(part) for part in (number_, name, version)] == [int, str, int]


UNKNOWN = "The request ID doesn't match any existing asynchronous requests"
#: Arguments that fail before or at the server, on a context of model ``failing``, and the text.
FAILING: dict[str, tuple[tuple[Any, ...], str]] = {
    "input type": (({"INPUT0": 1}, ONE), "input 'INPUT0' values must be specified as a list"),
    "no mapping": (([], ONE), "'list' object has no attribute 'items'"),
    "output": ((fp32(0), {"NOPE": RAW}), "unknown output 'NOPE' for 'failing'"),
    "scalar": ((fp32(0), ONE, None), "argument 3: <class 'TypeError'>: wrong type"),
    "batch": ((fp32(0), ONE, 9), "run batch-size 9 exceeds maximum batch size"),
    "input": (({"NOPE": [RAMP]}, ONE), "unknown input 'NOPE' for 'failing'"),
    "server": (({"INPUT0": [np.zeros(2, np.float32)]}, ONE), "unexpected shape for input 'INPUT0'"),
    "model": ((fp32(3), ONE), "the model refused value 3"),
}


def fails(context: InferContext, name: str) -> None:
    """run() raises the error of this row."""
    arguments, text = FAILING[name]
    expected = (InferenceServerException, AttributeError, ctypes.ArgumentError)
    with pytest.raises(expected, match=text):
        context.run(*arguments)


@pytest.mark.parametrize("call", FAILING)
@pytest.mark.smoke
def test_after_failing_run(connect: Any, call: str) -> None:
    """run() failing before or at the server: all three are None (docs/v1-behaviour.md §4.4)."""
    context = connect("failing")
    context.run(fp32(0), ONE)
    assert None not in last(context)
    fails(context, call)
    assert last(context) == NONE


@pytest.mark.parametrize(
    ("outputs", "name"),
    [
        ({"OUTPUT1": RAW}, None),
        ({"OUTPUT0": RAW, "OUTPUT1": RAW}, "omits_output"),
        ({"OUTPUT1": RAW, "OUTPUT0": RAW}, None),
    ],
)
def test_after_failing_to_read(connect: Any, outputs: Any, name: Any) -> None:
    """run() failing while reading results: the id; the name if a result was read."""
    # docs/v1-behaviour.md §4.4
    context = connect("omits_output")
    with pytest.raises(InferenceServerException, match="unable to find result"):
        context.run(fp32(1), outputs)
    assert context.get_last_request_id() > 0
    assert context.get_last_request_model_name() == name


def test_after_async_run(connect: Any) -> None:
    """async_run(): nothing changes, whether it is sent or refused (docs/v1-behaviour.md §4.4)."""
    context, done = connect("failing"), Completions()
    context.async_run(done, fp32(0), ONE)
    assert last(context) == NONE
    context.run(fp32(0), ONE)
    before = last(context)
    with client_error("unknown output 'NOPE' for 'failing'"):
        context.async_run(done, fp32(0), {"NOPE": RAW})
    context.async_run(done, fp32(0), ONE)
    done.wait(2)
    assert last(context) == before


def test_after_fetch(connect: Any) -> None:
    """Fetch ok: the server-side id; name and version where there were none."""
    # docs/v1-behaviour.md §4.4
    context, done = connect("multi_version", 2), Completions()
    context.async_run(done, fp32(0), ONE)
    (request_id,) = done.wait()
    assert number(context.get_async_run_results(request_id)) == 2
    assert context.get_last_request_id() > request_id
    assert last(context)[1:] == ("multi_version", 2)


def test_stale_name(connect: Any) -> None:
    """After a fetch name and version are those of an earlier request."""
    # docs/v1-behaviour.md §4.4, §10.5.4
    context, done = connect("multi_version"), Completions()
    context.run(fp32(0), ONE)
    before = last(context)
    context._last_request_model_name, context._last_request_model_version = "older", 1
    context.async_run(done, fp32(0), ONE)
    context.get_async_run_results(*done.wait())
    assert context.get_last_request_id() > before[0]
    assert last(context)[1:] == ("older", 1)


@pytest.mark.parametrize(
    ("request_id", "text"), [(7, UNKNOWN), (0, UNKNOWN), (-1, UNKNOWN), ("7", "wrong type")]
)
def test_after_failing_fetch(connect: Any, request_id: Any, text: str) -> None:
    """Fetch failing: unchanged from before (docs/v1-behaviour.md §4.4)."""
    context = connect("failing")
    context.run(fp32(0), ONE)
    before = last(context)
    with pytest.raises((InferenceServerException, ctypes.ArgumentError), match=text):
        context.get_async_run_results(request_id)
    assert last(context) == before


def test_after_fetch_of_a_failure(connect: Any) -> None:
    """Fetch failing: the error of a request changes nothing either (docs/v1-behaviour.md §4.4)."""
    context, done = connect("failing"), Completions()
    context.run(fp32(0), ONE)
    before = last(context)
    context.async_run(done, fp32(3), ONE)
    (request_id,) = done.wait()
    with pytest.raises(InferenceServerException, match="the model refused value 3"):
        context.get_async_run_results(request_id)
    assert last(context) == before


def test_ids_increase(connect: Any, triton: Any) -> None:
    """Ids never repeat in a process, across contexts and protocols."""
    # docs/v1-behaviour.md §4.5, §E.11
    ids: list[Any] = []
    with InferContext(triton.http, 0, "simple") as other:
        for context in (connect("simple"), other, connect("simple_nobatch"), other):
            context.run(add_sub(), BOTH)
            ids.append(context.get_last_request_id())
    assert ids == sorted(set(ids))


def test_client_ids(connect: Any) -> None:
    """Client id: per context from 1; refused calls and run() take none."""
    # docs/v1-behaviour.md §4.5
    first, second = connect("simple"), connect("simple")
    done = Completions()
    for context in (first, second):
        context.run(add_sub(), BOTH)
        with pytest.raises(InferenceServerException, match="run batch-size 9 exceeds"):
            context.async_run(done, add_sub(), BOTH, 9)
        assert context.async_run(add_sub(), BOTH) == 1
        assert context.async_run(done, add_sub(), BOTH) is None
        assert context.async_run(add_sub(), BOTH) == 3
    assert done.wait(2) == [2, 2]


@pytest.mark.smoke
def test_stat_keys(connect: Any) -> None:
    """A dict of exactly four native ints, all growing with each run (docs/v1-behaviour.md §4.6)."""
    context = connect("simple")
    earlier = context.get_stat()
    assert earlier == dict.fromkeys(KEYS, 0)
    for count in (1, 2, 3):
        context.run(add_sub(), BOTH)
        stat = context.get_stat()
        assert set(stat) == KEYS
        assert {type(value) for value in stat.values()} == {int}
        assert stat["completed_request_count"] == count
        assert all(stat[key] > earlier[key] for key in KEYS)
        earlier = stat


def test_stat_of_failures(connect: Any, protocol: int) -> None:
    """Over gRPC refused requests count, over HTTP they do not; validation never does."""
    # docs/v1-behaviour.md §4.6
    context = connect("failing")
    for name in ("model", "server", "input", "batch", "output", "scalar"):
        fails(context, name)
    assert completed(context) == (2 if protocol else 0)


def test_stat_of_async(connect: Any, protocol: int) -> None:
    """Async: HTTP counts at completion, gRPC when the results are fetched."""
    # docs/v1-behaviour.md §4.6
    context, done = connect("simple"), Completions()
    context.async_run(done, add_sub(), BOTH)
    (request_id,) = done.wait()
    assert completed(context) == (0 if protocol else 1)
    context.get_async_run_results(request_id)
    assert completed(context) == 1


def test_stat_of_async_failure(connect: Any, protocol: int) -> None:
    """Async: a refusal counts over gRPC, when it is fetched (docs/v1-behaviour.md §4.6)."""
    context, done = connect("failing"), Completions()
    context.async_run(done, fp32(3), ONE)
    (request_id,) = done.wait()
    assert completed(context) == 0
    with server_error("the model refused value 3"):
        context.get_async_run_results(request_id)
    assert completed(context) == (1 if protocol else 0)


def test_stat_is_a_copy(connect: Any) -> None:
    """Each call returns a dict of its own, of this context alone (docs/v1-behaviour.md §4.6)."""
    context, other = connect("simple"), connect("simple")
    context.get_stat()["completed_request_count"] = 99
    context.run(add_sub(), BOTH)
    assert (completed(context), completed(other)) == (1, 0)


def test_time_spent_waiting_is_counted(connect: Any) -> None:
    """Total time: nanoseconds, the server's included; send and receive without it."""
    # docs/v1-behaviour.md §4.6
    context = connect("slow")
    context.run(fp32(0.2), ONE)
    stat = context.get_stat()
    assert 200_000_000 <= stat["cumulative_total_request_time_ns"] < 60_000_000_000
    assert stat["cumulative_send_time_ns"] + stat["cumulative_receive_time_ns"] < 200_000_000

"""get_last_request_*, request ids, get_stat (docs/v1-behaviour.md §4.4, §4.5, §4.6)."""

from __future__ import annotations

from typing import Any

import pytest

from tensorrtserver.api import InferContext
from tests.infer_cases import (
    BOTH,
    ONE,
    Completions,
    add_sub,
    fp32,
)

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
    """A successful run() sets an id, the model's name and the answering version, natively typed."""
    # docs/v1-behaviour.md §4.4
    context = connect("multi_version")
    for _ in range(2):
        context.run(fp32(0), ONE)
        number_, name, version = last(context)
        assert (name, version) == ("multi_version", 3)
        assert [type(part) for part in (number_, name, version)] == [int, str, int]


@pytest.mark.smoke
def test_ids_increase(connect: Any, triton: Any) -> None:
    """Request ids never repeat in a process, across contexts and protocols."""
    # docs/v1-behaviour.md §4.5, §E.11
    ids: list[Any] = []
    with InferContext(triton.http, 0, "simple") as other:
        for context in (connect("simple"), other, connect("simple_nobatch"), other):
            context.run(add_sub(), BOTH)
            ids.append(context.get_last_request_id())
    assert ids == sorted(set(ids))


@pytest.mark.smoke
def test_stat_keys(connect: Any) -> None:
    """get_stat returns exactly four native ints, which grow with each run."""
    # docs/v1-behaviour.md §4.6
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


@pytest.mark.smoke
def test_stat_of_async(connect: Any, protocol: int) -> None:
    """Over HTTP a request counts at completion, over gRPC when its results are fetched."""
    # docs/v1-behaviour.md §4.6
    context, done = connect("simple"), Completions()
    context.async_run(done, add_sub(), BOTH)
    (request_id,) = done.wait()
    assert completed(context) == (0 if protocol else 1)
    context.get_async_run_results(request_id)
    assert completed(context) == 1


def test_time_spent_waiting_is_counted(connect: Any) -> None:
    """Total time is in nanoseconds and includes the server's time; send and receive exclude it."""
    # docs/v1-behaviour.md §4.6
    context = connect("slow")
    context.run(fp32(0.2), ONE)
    stat = context.get_stat()
    own = stat["cumulative_send_time_ns"] + stat["cumulative_receive_time_ns"]
    assert 200_000_000 <= stat["cumulative_total_request_time_ns"] - own < 60_000_000_000

"""Contexts used from several threads (docs/v1-behaviour.md §10.3)."""

from __future__ import annotations

import threading
from typing import Any, Callable

import numpy as np
import pytest

from tensorrtserver.api import InferenceServerException
from tests.infer_cases import (
    BOTH,
    ONE,
    PATIENCE,
    SUM,
    add_sub,
    fp32,
    number,
)


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Return the result of ``work`` on each of ``count`` threads that start together."""
    barrier = threading.Barrier(count)
    results: list[Any] = [NotImplemented] * count  # left by a thread that died

    def body(worker: int) -> None:
        barrier.wait(PATIENCE)
        results[worker] = work(worker)

    threads = [threading.Thread(target=body, args=(worker,)) for worker in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert NotImplemented not in results, "a thread has died"
    return results


def integers(*values: int) -> dict[str, Any]:
    return {"INPUT0": [np.array(values, np.int32)]}


@pytest.mark.smoke
def test_run_from_several_threads(connect: Any) -> None:
    """Threads that call run() on one context get their own results, and all are counted."""
    # docs/v1-behaviour.md §10.3
    context = connect("identity_int32")

    def work(worker: int) -> bool:
        shapes = [list(range(worker, worker + size)) for size in range(1, 40)]
        return all(
            context.run(integers(*shape), ONE)["OUTPUT0"][0].tolist() == shape for shape in shapes
        )

    assert together(6, work) == [True] * 6
    assert context.get_stat()["completed_request_count"] == 6 * 39


def test_one_result_for_one_thread(connect: Any) -> None:
    """If several threads fetch one id, one thread gets the results."""
    # docs/v1-behaviour.md §5
    context = connect("slow")
    request_id = context.async_run(fp32(0.2), ONE)

    def work(worker: int) -> str | None:
        try:
            assert number(context.get_async_run_results(request_id, True))
        except InferenceServerException as error:
            message: str | None = error.message()
            return message
        return None

    results = together(4, work)
    assert results.count(None) == 1
    assert set(results) - {None} == {
        "The request ID doesn't match any existing asynchronous requests"
    }


def test_close_while_others_run(connect: Any) -> None:
    """If a context is closed, run() of other threads returns a result or raises an error."""
    context = connect("simple")

    def work(worker: int) -> bool:
        if worker == 0:
            return context.close() is None
        try:
            while True:
                assert context.run(add_sub(), BOTH)["OUTPUT0"][0].tolist() == SUM
        except InferenceServerException as error:
            return error.server_id() == ""

    assert together(4, work) == [True] * 4


def test_requests_run_at_once(connect: Any) -> None:
    """Four slow requests of four threads on one context run concurrently."""
    context = connect("slow")
    context.run(fp32(0), ONE)
    together(4, lambda worker: context.run(fp32(1), ONE))
    total = context.get_stat()["cumulative_total_request_time_ns"]
    assert 4e9 <= total < 9.5e9  # one after the other: 1 + 2 + 3 + 4 seconds

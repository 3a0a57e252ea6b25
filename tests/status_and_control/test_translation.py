"""A v2 server's status as v1's ServerStatus and ModelRepositoryIndex.

(docs/v1-behaviour.md §6.2, §6.3)
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tritonclient_shim.core.model import (
    BatchStatistics,
    Duration,
    IndexRow,
    ModelStatistics,
    ServerMetadata,
    ServerSnapshot,
)
from tritonclient_shim.protos import server_status_pb2 as pb
from tritonclient_shim.translate.status import infer_stats, to_status

METADATA = ServerMetadata("inference:0", "2.51.0")


def batch(size: int, count: int) -> BatchStatistics:
    return BatchStatistics(
        size, Duration(count, count), Duration(count, 10 * count), Duration(count, 100 * count)
    )


def statistics(
    counts: list[int], requests: int | None = None, failures: int = 0
) -> ModelStatistics:
    """Return statistics with these executions of the batch sizes 1, 2, … and these requests."""
    executions = sum(counts)
    successes = executions if requests is None else requests
    return ModelStatistics(
        name="m",
        version="1",
        last_inference_ms=1234,
        inference_count=sum(size * count for size, count in enumerate(counts, 1)),
        execution_count=executions,
        success=Duration(successes, 1007 * successes),
        fail=Duration(failures, 5 * failures),
        queue=Duration(successes, 13),
        compute_input=Duration(successes, executions),
        compute_infer=Duration(successes, 10 * executions),
        compute_output=Duration(successes, 100 * executions),
        batches=tuple(batch(size, count) for size, count in enumerate(counts, 1)),
    )


def status_of(*rows: IndexRow, **more: object) -> pb.ServerStatus:
    snapshot = ServerSnapshot(METADATA, True, 5, rows, **more)  # type: ignore[arg-type]
    return to_status(snapshot)


@pytest.mark.parametrize(
    ("state", "number"),
    [("READY", 1), ("UNAVAILABLE", 2), ("LOADING", 3), ("UNLOADING", 4), ("", 0), ("NEW", 0)],
)
def test_version_state(state: str, number: int) -> None:
    """ready_state is v1's number for the index's word, UNKNOWN for any other word."""
    # docs/v1-behaviour.md §6.2
    status = status_of(IndexRow("m", "3", state))
    assert status.model_status["m"].version_status[3].ready_state == number


@pytest.mark.parametrize("version", ["v2.0", "²", "-1", "9223372036854775808", "1" * 5000])
def test_version_that_is_no_number(version: str) -> None:
    """A version without a v1 number is -1, with its state, reason and counts."""
    stats = ModelStatistics("m", version, inference_count=3, success=Duration(3, 9))
    status = status_of(IndexRow("m", version, "UNAVAILABLE", "why"), statistics=(stats,))
    result = status.model_status["m"].version_status
    assert list(result) == [-1]
    assert result[-1].ready_state == pb.MODEL_UNAVAILABLE
    assert result[-1].ready_state_reason.message == "why"
    assert (result[-1].model_inference_count, list(result[-1].infer_stats)) == (3, [1])


def test_several_versions_that_are_no_numbers() -> None:
    """Several such versions share -1; a ready version wins, in any order."""
    rows = [IndexRow("m", "v1", "UNAVAILABLE"), IndexRow("m", "v2", "READY"), IndexRow("m", "3")]
    for index in (rows, rows[::-1]):
        result = status_of(*index).model_status["m"].version_status
        states = {number: version.ready_state for number, version in result.items()}
        assert states == {-1: pb.MODEL_READY, 3: pb.MODEL_UNKNOWN}


def test_ready_model_without_versions() -> None:
    """A ready model without versions, as KServe v2 allows, has -1."""
    result = status_of(IndexRow("m", "", "READY")).model_status["m"].version_status
    assert {n: version.ready_state for n, version in result.items()} == {-1: pb.MODEL_READY}


def test_requests_by_batch_size() -> None:
    """Without merged requests every batch size has exact counts (docs/v2-mapping.md §7)."""
    stats = infer_stats(statistics([3, 2]))
    assert {size: row.success.count for size, row in stats.items()} == {1: 3, 2: 2}
    two = stats[2]
    assert (two.compute.count, two.compute.total_time_ns) == (2, 222)
    assert two.compute_infer.total_time_ns == 20
    assert (two.success.total_time_ns, two.queue.count) == (2014, 2)


def test_merged_requests() -> None:
    """Requests executed together are all under 1, with the totals (docs/v2-mapping.md §7)."""
    stats = infer_stats(statistics([0, 3], requests=6))
    assert list(stats) == [1]
    assert (stats[1].success.count, stats[1].success.total_time_ns) == (6, 6042)
    assert (stats[1].compute.count, stats[1].compute.total_time_ns) == (6, 333)
    assert stats[1].queue.total_time_ns == 13


def test_failed_and_merged_executions() -> None:
    """A failed execution and an execution of two requests are not two single executions."""
    merged = replace(statistics([1, 1], failures=1), inference_count=2)
    stats = infer_stats(merged)
    assert list(stats) == [1]
    assert (stats[1].success.count, stats[1].failed.count) == (2, 1)

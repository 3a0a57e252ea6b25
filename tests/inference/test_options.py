"""flags, corr_id, priority and timeout_us (docs/v1-behaviour.md §3.9)."""

from __future__ import annotations

from typing import Any

import pytest

from tensorrtserver.api import InferenceServerException
from tests.generation_marks import not_on
from tests.infer_cases import (
    BOTH,
    END,
    ONE,
    RAW,
    START,
    add_sub,
    fp32,
    int32,
    number,
)

SUM_AND_ID = {"OUTPUT": RAW, "CORRID": RAW}


@pytest.fixture(params=["sequence_sum", "sequence_oldest"])
def sequence(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.smoke
def test_sequence(open_context: Any, sequence: str, way: str) -> None:
    """A sequence starts with START, ends with END, and has the constructor's corr_id."""
    # docs/v1-behaviour.md §3.9, §5
    correlation_id = 1000 + len(way)
    context = open_context(sequence, correlation_id=correlation_id)
    flags = [START, 0, END]
    sums = [context.run(int32(n), SUM_AND_ID, 1, flag) for n, flag in zip((5, 6, 7), flags)]
    assert [number(item, "OUTPUT") for item in sums] == [5, 11, 18]
    assert [number(item, "CORRID") for item in sums] == [correlation_id] * 3


@pytest.mark.parametrize("name", ["priority", "timeout_us"])
def test_any_integer(connect: Any, name: str) -> None:
    """Priority is modulo 2**32, timeout_us modulo 2**64. A model without a policy ignores them."""
    # docs/v1-behaviour.md §3.9
    for value in (1, 2**32 - 1, 2**32 + 1, 2**63, 2**64 - 1, -1):
        assert set(connect("simple").run(add_sub(), BOTH, **{name: value})) == set(BOTH)


@not_on("2.33", "takes requests out of the queue before the model is free")
@pytest.mark.smoke
def test_timeout_in_the_queue(connect: Any) -> None:
    """An exceeded timeout_us gives ``Request timeout expired``, for that request alone."""
    # docs/v1-behaviour.md §3.9, §3.4
    context = connect("queue_policy")
    # the server may have taken all of them at once
    assert any(expired(context) for _ in range(5))
    assert number(context.run(fp32(0), ONE)) == 0


def expired(context: Any) -> int:
    """Return how many of five requests with a limit were refused while a sixth was running."""
    refused = 0
    slow = context.async_run(fp32(0.3), ONE)
    for request_id in [context.async_run(fp32(0), ONE, timeout_us=1000) for _ in range(5)]:
        try:
            context.get_async_run_results(request_id, True)
        except InferenceServerException as error:
            assert error.message() == "Request timeout expired"
            assert error.server_id() == "triton"
            refused += 1
    assert number(context.get_async_run_results(slow, True)) == pytest.approx(0.3)
    return refused

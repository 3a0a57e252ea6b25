"""``batch_size`` (docs/v1-behaviour.md §3.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.server.infer_cases import (
    BOTH,
    CLASS,
    ONE,
    RAMP,
    SUM,
    add_sub,
    client_error,
    server_error,
)

pytest_plugins = ["tests.server.infer_fixtures"]

REFUSED = "run batch-size {} exceeds maximum batch size {} allowed for model '{}'"


@pytest.mark.parametrize("batch_size", [1, 2, 8])
@pytest.mark.smoke
def test_batches(connect: Any, batch_size: int) -> None:
    """Up to the model's maximum; each entry gets its own result (docs/v1-behaviour.md §3.5)."""
    arrays = [RAMP + entry for entry in range(batch_size)]
    inputs = {"INPUT0": arrays, "INPUT1": arrays}
    results = connect("simple").run(inputs, BOTH, batch_size)
    assert [entry.tolist() for entry in results["OUTPUT0"]] == [(2 * a).tolist() for a in arrays]


@pytest.mark.parametrize("given", [9, 1000, 2**64 - 1, -1, -(2**63)])
@pytest.mark.smoke
def test_too_large(connect: Any, given: int) -> None:
    """More than the maximum is refused by the client; a negative number wraps."""
    # docs/v1-behaviour.md §3.5
    with client_error(REFUSED.format(given % 2**64, 8, "simple")):
        connect("simple").run(add_sub(), BOTH, given)


@pytest.mark.parametrize("given", [2, 8, -1])
def test_model_without_batching(connect: Any, given: int) -> None:
    """Non-batching model: the effective maximum is 1; 0 and 1 are fine."""
    # docs/v1-behaviour.md §3.5
    context = connect("simple_nobatch")
    with client_error(REFUSED.format(given % 2**64, 1, "simple_nobatch")):
        context.run(add_sub(2), BOTH, given)
    assert context.run(add_sub(), ONE)["OUTPUT0"][0].tolist() == SUM
    assert context.run(add_sub(), BOTH, 0) == {"OUTPUT0": [], "OUTPUT1": []}


def test_array_layout_without_batching(connect: Any) -> None:
    """Array layout: a non-batching model's shapes have no batch dimension at all."""
    # docs/v1-behaviour.md §3.5
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    (got,) = connect("identity_nobatch").run({"INPUT0": [array]}, ONE)["OUTPUT0"]
    assert got.tolist() == array.tolist()


@pytest.mark.parametrize("given", [0, False, np.int32(0)])
@pytest.mark.parametrize("output", [(1,), (CLASS, 3), (CLASS, 0)])
def test_zero(connect: Any, given: Any, output: Any) -> None:
    """batch_size 0: the model runs once, on one array, and every list is empty."""
    # docs/v1-behaviour.md §3.5
    context = connect("simple")
    assert context.run(add_sub(), {"OUTPUT0": output}, given) == {"OUTPUT0": []}
    # docs/v1-behaviour.md §E.5: where no class was asked for, the genuine client had no model to
    # tell either
    assert context.get_last_request_model_version() == (None if output == (CLASS, 0) else 1)
    assert context.get_stat()["completed_request_count"] == 1
    with client_error("expecting 1 invocations of SetRaw for input 'INPUT1', have 0"):
        context.run({"INPUT0": [RAMP]}, BOTH, 0)


def test_zero_runs_the_model(connect: Any) -> None:
    """batch_size 0: it is a request like any other, so the model's error comes back."""
    # docs/v1-behaviour.md §3.5
    with server_error("the model refused value 3"):
        connect("failing").run({"INPUT0": [np.array([3], np.float32)]}, ONE, 0)


def test_batch_of_classes(connect: Any) -> None:
    """Batch: one list of classes per entry (docs/v1-behaviour.md §4.2)."""
    scores = [np.eye(10, dtype=np.float32)[row] for row in (4, 0, 9)]
    results = connect("classify").run({"INPUT": scores}, {"OUTPUT": (CLASS, 1)}, 3)
    assert results == {"OUTPUT": [[(4, 1.0, "l4")], [(0, 1.0, "l0")], [(9, 1.0, "l9")]]}

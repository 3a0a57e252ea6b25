"""CLASS results (docs/v1-behaviour.md §4.2)."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import ServerStatusContext
from tests.infer_cases import CLASS, END, START, wait_for

LABELS = ["l0", "l1", "l2", "a:b c", "l4", "l5", "l6", "", "l8", "l9"]
SCORES = np.array([0.1, 1e-7, 0.7, -3, 2e8, 1 / 3, 0.15, 1e-45, -1e-30, 0.5], np.float32)
ORDER = [4, 2, 9, 5, 6, 0, 1, 7, 8, 3]


def single(value: float) -> float:
    """Return a number as float32, widened again."""
    packed: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return packed


def classify(context: Any, scores: Any, count: int = 10) -> Any:
    return context.run({"INPUT": [scores]}, {"OUTPUT": (CLASS, count)})["OUTPUT"][0]


def inferences(triton: Any, model: str) -> int:
    """Return how many requests the model has answered."""
    with ServerStatusContext(triton.http, 0, model) as context:
        status = context.get_server_status().model_status[model].version_status[1]
        return sum(stats.success.count for stats in status.infer_stats.values())


@pytest.mark.parametrize(
    "model", ["classify", "classify_nobatch", "classify_variable", "ensemble_classify"]
)
@pytest.mark.smoke
def test_values_and_labels(connect: Any, model: str) -> None:
    """Classes are sorted by value, with exact float32 values and labels, also of an ensemble."""
    # docs/v1-behaviour.md §4.2
    expected = [(i, single(SCORES[i]), LABELS[i]) for i in ORDER]
    assert classify(connect(model), SCORES) == expected


def test_infinities_and_nan(connect: Any) -> None:
    """Infinities are at the ends. NaNs are where the server's own sort leaves them."""
    # docs/v1-behaviour.md §4.2
    scores = np.array([1, np.inf, -np.inf, 0, 2, 3, 4, 5, 6, 7], np.float32)
    result = classify(connect("classify"), scores)
    assert (result[0][:2], result[-1][:2]) == ((1, np.inf), (2, -np.inf))
    scores[[0, 4]] = np.nan
    exact = classify(connect("classify"), scores)
    assert sorted(index for index, _, _ in exact) == list(range(10))
    assert [index for index, _, _ in exact] == server_order(connect, scores)


def server_order(connect: Any, scores: Any) -> list[int]:
    """Return the server's own order, from a request that the server may classify by itself."""
    with_flags = connect("classify", correlation_id=1)  # then no request is repeated
    result = with_flags.run({"INPUT": [scores]}, {"OUTPUT": (CLASS, 10)}, 1, START | END)
    return [index for index, _, _ in result["OUTPUT"][0]]


@pytest.mark.smoke
def test_ties(connect: Any) -> None:
    """Equal values have the order of the server's sort, also among a thousand classes."""
    # docs/v1-behaviour.md §4.2
    context, on_server = connect("classify_1000"), connect("classify_1000", correlation_id=9)
    for seed in range(6):
        scores = np.random.default_rng(seed).integers(0, 2 + 3**seed, 1000).astype(np.float32)
        inputs, outputs = {"INPUT": [scores]}, {"OUTPUT": (CLASS, 50)}
        assert context.run(inputs, outputs) == on_server.run(inputs, outputs, 1, 3)


def test_labels_cost_one_request(connect: Any, triton: Any) -> None:
    """Contexts send at most one extra request for a model's labels (docs/v2-mapping.md §1)."""
    before = inferences(triton, "classify")
    for count in (1, 10, 3):
        classify(connect("classify"), SCORES, count)
    wait_for(lambda: inferences(triton, "classify") >= before + 3)  # Triton answers first
    assert inferences(triton, "classify") <= before + 4


def test_stateful_model(connect: Any, triton: Any, protocol: int) -> None:
    """A stateful model never gets a request twice. Its class values have six decimals."""
    before = inferences(triton, "sequence_labels")
    context = connect("sequence_labels", correlation_id=7000 + protocol)
    scores = np.array([0.1234567, 17.1234567, 1e-7, 0, -1, -2, -3, -4, -5, -6], np.float32)
    for flags, factor in ((START, 1), (0, 2), (END, 3)):
        total = np.float32(0)
        for _ in range(factor):
            total = total + scores
        results = context.run({"INPUT": [scores]}, {"OUTPUT": (CLASS, 4)}, 1, flags)
        result = results["OUTPUT"][0]
        assert [(index, label) for index, _, label in result] == [
            *((1, "l1"), (0, "l0"), (2, "l2"), (3, "a:b c"))
        ]
        assert result[0][1] == float(total[1])  # exact from 16 up
        assert [value for _, value, _ in result[1:]] == [
            single(round(float(value), 6)) for value in total[[0, 2, 3]]
        ]
    wait_for(lambda: inferences(triton, "sequence_labels") >= before + 3)  # Triton answers first
    assert inferences(triton, "sequence_labels") == before + 3

"""Models for the tests of ``tritonclient_shim.testing``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tritonclient_shim import testing

Arrays = Any


@testing.model(
    inputs=[("INPUT0", "INT32", [16]), ("INPUT1", "TYPE_INT32", [16])],
    outputs=[("OUTPUT0", np.int32, [16]), ("OUTPUT1", np.int32, [16])],
    max_batch_size=8,
)
def simple(inputs: Arrays) -> Arrays:
    """Return sum and difference."""
    left, right = inputs["INPUT0"], inputs["INPUT1"]
    return {"OUTPUT0": left + right, "OUTPUT1": left - right}


@testing.model(
    inputs=[("INPUT0", "BYTES", [16]), ("INPUT1", "BYTES", [16])],
    outputs=[("OUTPUT0", object, [16]), ("OUTPUT1", "TYPE_STRING", [16])],
    max_batch_size=8,
)
def simple_string(inputs: Arrays) -> Arrays:
    """Return sum and difference of numbers that are written as text."""
    left, right = (inputs[name].astype(np.int32) for name in ("INPUT0", "INPUT1"))
    return {"OUTPUT0": (left + right).astype(str), "OUTPUT1": (left - right).astype("S")}


@testing.model(
    inputs=[("values", np.float64, [4])],
    outputs=[("predict_proba", np.float64, [3], ["setosa", "versicolor", "virginica"])],
    max_batch_size=8,
)
def flowers(inputs: Arrays) -> Arrays:
    """Return the three classes by the length of the petal."""
    length = inputs["values"][:, 2]
    middles = np.array([1.5, 4.3, 5.6])
    return {"predict_proba": -np.abs(length[:, None] - middles)}


@testing.model(
    inputs=[("INPUT", np.int32, [1])],
    outputs=[("OUTPUT", np.int32, [1])],
    max_batch_size=4,
    stateful=True,
)
def sequence_sum(inputs: Arrays, sequence: testing.Sequence) -> Arrays:
    """Return the sum of the sequence so far."""
    sequence.state["sum"] = sequence.state.get("sum", 0) + inputs["INPUT"]
    return {"OUTPUT": sequence.state["sum"]}


@testing.model(inputs=[("INPUT0", "FP32", [-1])], outputs=[("OUTPUT0", "FP32", [-1])])
def spare(inputs: Arrays) -> Arrays:
    """Return the input. The model has no batching."""
    return {"OUTPUT0": inputs["INPUT0"]}


ALL = {
    "simple": simple,
    "simple_string": simple_string,
    "flowers": flowers,
    "sequence_sum": sequence_sum,
}

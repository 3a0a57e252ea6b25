"""The standard models of the contract suite as Python functions."""

from __future__ import annotations

import time
from typing import Any, Callable

import numpy as np

from testbed.repository import MODELS
from tritonclient_shim import testing
from tritonclient_shim.backends.in_process.declared import Model

Arrays = Any
LABELS = MODELS["classify"].labels


def add_sub(inputs: Arrays) -> Arrays:
    """Return sum and difference."""
    left, right = inputs["INPUT0"], inputs["INPUT1"]
    return {"OUTPUT0": left + right, "OUTPUT1": left - right}


def identity(inputs: Arrays) -> Arrays:
    """Return the input."""
    (value,) = inputs.values()
    return {"OUTPUT0": value}


def classify(inputs: Arrays) -> Arrays:
    """Return the input, as scores."""
    return {"OUTPUT": inputs["INPUT"]}


def slow(inputs: Arrays) -> Arrays:
    """Return the input, after as many seconds as it says."""
    time.sleep(float(inputs["INPUT0"].max()))
    return identity(inputs)


def failing(inputs: Arrays) -> Arrays:
    """Return a refusal of any value but 0."""
    raise testing.ServerError(f"the model refused value {inputs['INPUT0'].item():g}")


def doubling(inputs: Arrays) -> Arrays:
    """Return the input, and twice the input."""
    value = inputs["in/put:0"]
    return {"out/put:0": value, "out/put:1": value * 2}


def running_sum(inputs: Arrays, sequence: testing.Sequence) -> Arrays:
    """Return the sum of the sequence so far."""
    sequence.state["sum"] = sequence.state.get("sum", 0) + inputs["INPUT"]
    corrid = np.array([[sequence.id]], np.uint64)
    return {"OUTPUT": sequence.state["sum"], "CORRID": corrid}


def version(number: int) -> Callable[[Arrays], Arrays]:
    """Return the number of the version."""
    return lambda inputs: {"OUTPUT0": np.full_like(inputs["INPUT0"], number)}


#: The function behind each behaviour of the testbed's models.
_FUNCTIONS: dict[str | None, Any] = {
    "add_sub": add_sub,
    "identity": identity,
    "slow": slow,
    "failing": failing,
    "doubling": doubling,
    "sequence": running_sum,
    "version": version(1),
    "broken": identity,
}


def _model(name: str) -> Model:
    """Return the model of the testbed, declared by its own configuration."""
    source = MODELS[name]
    labels = source.labels

    def tensors(kind: str) -> list[testing.Tensor]:
        return [
            testing.Tensor(
                tensor["name"], str(tensor["data_type"]), tensor["dims"],
                labels if "label_filename" in tensor else (),
            )
            for tensor in source.config[kind]
        ]  # fmt: skip

    function = classify if name == "classify" else _FUNCTIONS[source.behaviour]
    declare = testing.model(
        inputs=tensors("input"),
        outputs=tensors("output"),
        max_batch_size=source.config.get("max_batch_size", 0),
        stateful="sequence_batching" in source.config,
        loaded=name not in ("spare", "broken"),
        versions={number: version(number) for number in source.versions[:-1]},
    )
    return declare(version(3) if len(source.versions) > 1 else function)


STANDARD = {
    name: _model(name)
    for name in (
        *("simple", "classify", "sequence_sum", "slow", "failing", "multi_version", "tensor_names"),
        *("spare", "broken"),
        *(name for name in MODELS if name.startswith("identity_") and "reshape" not in name),
    )
}

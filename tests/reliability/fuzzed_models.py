"""Models of a server in this process that answer as Triton's models of these names."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from tests.reliability.fuzzed_arguments import MODELS
from tritonclient_shim import testing

_LABELS = [f"l{number}" for number in range(10)]


def _same(inputs: Any) -> Any:
    return next(iter(inputs.values()))


def _sum(inputs: Any) -> Any:
    return inputs["INPUT0"] + inputs["INPUT1"]


def _sum_of_texts(inputs: Any) -> Any:
    numbers = {name: array.astype("S").astype(np.int32) for name, array in inputs.items()}
    return _sum(numbers).astype("S").astype(object)


def _declared(name: str, datatype: str, size: int, computed: Callable[[Any], Any]) -> Any:
    inputs, output = MODELS[name]
    labels = _LABELS if name == "classify" else []

    def model(values: Any) -> Any:
        return {output: computed(values)}

    return testing.model(
        inputs=[(item, datatype, [size]) for item in inputs],
        outputs=[(output, datatype, [size], labels)],
        max_batch_size=8,
    )(model)


def served_models() -> dict[str, Any]:
    """Return the models by name."""
    return {
        "simple": _declared("simple", "INT32", 16, _sum),
        "identity_int32": _declared("identity_int32", "INT32", -1, _same),
        "simple_string": _declared("simple_string", "BYTES", 16, _sum_of_texts),
        "classify": _declared("classify", "FP32", 10, _same),
    }

"""The models of MLServer and KServe: their declarations and their functions.

Their names and results equal those of the standard Triton models. So a test or a script runs on
every server. The servers' own Pythons import this module too.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Mapping, Sequence, Tuple

import numpy as np

Arrays = Dict[str, Any]
Function = Callable[[Arrays], Arrays]
Tensors = Sequence[Tuple[str, str, Tuple[int, ...]]]

DATATYPES = (
    *("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"),
    *("FP16", "FP32", "FP64", "BYTES"),
)


class Model:
    """A model: its declared tensors as (name, datatype, shape), and its function on arrays.

    ``versions`` has a function for each version, for servers with several versions.
    """

    def __init__(
        self,
        function: Function,
        inputs: Tensors = (),
        outputs: Tensors = (),
        versions: Mapping[str | None, Function] | None = None,
    ) -> None:
        self.function = function
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.versions = versions or {None: function}

    def metadata(self, side: str) -> list[dict[str, Any]]:
        """Return ``"inputs"`` or ``"outputs"`` as in the protocol's JSON."""
        return [{"name": n, "datatype": d, "shape": list(s)} for n, d, s in getattr(self, side)]


def add_sub(arrays: Arrays) -> Arrays:
    """Return sum and difference."""
    left, right = arrays["INPUT0"], arrays["INPUT1"]
    return {"OUTPUT0": left + right, "OUTPUT1": left - right}


def add_sub_strings(arrays: Arrays) -> Arrays:
    """Return sum and difference of decimal numbers as text."""
    results = add_sub({name: texts.astype(np.int64) for name, texts in arrays.items()})
    return {name: np.char.mod(b"%d", value).astype(object) for name, value in results.items()}


def echo(arrays: Arrays) -> Arrays:
    """Return each input under its name."""
    return dict(arrays)


def renamed(arrays: Arrays) -> Arrays:
    """Return each input under the name of an output: INPUT0 as OUTPUT0, INPUT as OUTPUT."""
    return {name.replace("INPUT", "OUTPUT"): array for name, array in arrays.items()}


def image_scores(arrays: Arrays) -> Arrays:
    """Return as score k of each image its value at flat position 150 * k, channels first."""
    images = arrays["input"]
    return {"probabilities": images.reshape(len(images), -1)[:, :150000:150]}


def flowers(arrays: Arrays) -> Arrays:
    """Return a score of each kind of flower: nearer measurements give a higher score."""
    nearness = np.exp(-((arrays["values"][:, None] - _TYPICAL) ** 2).sum(axis=2))
    return {"predict_proba": nearness / nearness.sum(axis=1, keepdims=True)}


def failing(arrays: Arrays) -> Arrays:
    """Return the input if it is 0. Any other value is an error that names the value."""
    refused = arrays["INPUT0"][arrays["INPUT0"] != 0]
    if refused.size:
        raise ValueError(f"the model refused value {refused[0]:g}")
    return renamed(arrays)


def slow(arrays: Arrays) -> Arrays:
    """Sleep for the seconds of the largest value, then return the input."""
    time.sleep(float(arrays["INPUT0"].max()))
    return renamed(arrays)


def version(number: int) -> Function:
    """Return the function of a version: its number, once for each value."""
    return lambda arrays: {"OUTPUT0": np.full_like(arrays["INPUT0"], number)}


_TYPICAL = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
_SIDES = ("INPUT", "OUTPUT")


def _pair(datatype: str, shape: tuple[int, ...]) -> tuple[Tensors, Tensors]:
    return [("INPUT0", datatype, shape)], [("OUTPUT0", datatype, shape)]


def _two(datatype: str, shape: tuple[int, ...]) -> tuple[Tensors, Tensors]:
    inputs, outputs = ([(f"{side}{i}", datatype, shape) for i in (0, 1)] for side in _SIDES)
    return inputs, outputs


MODELS = {
    "simple": Model(add_sub, *_two("INT32", (-1, 16))),
    "simple_nobatch": Model(add_sub, *_two("INT32", (16,))),
    "simple_string": Model(add_sub_strings, *_two("BYTES", (-1, 16))),
    **{f"identity_{d.lower()}": Model(renamed, *_pair(d, (-1, -1))) for d in DATATYPES},
    "undeclared": Model(echo),
    "classify": Model(renamed, [("INPUT", "FP32", (-1, 10))], [("OUTPUT", "FP32", (-1, 10))]),
    "flowers": Model(flowers, [("values", "FP64", (-1, 4))], [("predict_proba", "FP64", (-1, 3))]),
    "image_classifier": Model(
        image_scores,
        [("input", "FP32", (-1, 3, 224, 224))],
        [("probabilities", "FP32", (-1, 1000))],
    ),
    "multi_version": Model(
        version(3), *_pair("FP32", (-1, 1)), versions={"2": version(2), "3": version(3)}
    ),
    "failing": Model(failing, *_pair("FP32", (-1, 1))),
    "slow": Model(slow, *_pair("FP32", (-1, 1))),
}

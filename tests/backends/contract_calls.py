"""Calls of the standard models, for the contract."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import numpy as np

from tritonclient_shim.backends.base import Backend, Outcome
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.model import GRPC, InferCall, OutputSpec, TensorIn, TensorOut

PATIENCE = 60.0  # seconds; only a failing test waits this long
AWKWARD_NAME = "a b/c%d:é"
SIXTEEN = np.arange(16, dtype=np.int32).reshape(1, 16)
ONE = np.ones((1, 16), np.int32)


def tensor(name: str, array: np.ndarray, datatype: str = "") -> TensorIn:
    """Return an array as an input."""
    kind = datatype or next(row.v2 for row in dtypes.TABLE if row.numpy == array.dtype)
    return TensorIn(name, kind, array.shape, (array,), array.nbytes)


def simple(left: np.ndarray = SIXTEEN, right: np.ndarray = ONE, **more: Any) -> InferCall:
    """Return a call of the add-and-subtract model."""
    inputs = (tensor("INPUT0", left), tensor("INPUT1", right))
    fields: dict[str, Any] = {"model_name": "simple", "model_version": "", "inputs": inputs}
    fields["outputs"] = (OutputSpec("OUTPUT0"), OutputSpec("OUTPUT1"))
    return InferCall(**{**fields, **more})


def single(model: str, value: TensorIn, output: str = "OUTPUT0", **more: Any) -> InferCall:
    """Return a call with one input and one output."""
    return InferCall(model, "", (value,), (OutputSpec(output),), **more)


def status_of(backend: Backend, code: str) -> str:
    """Return the status that tritonclient gives an error over the backend's protocol."""
    if backend.endpoint.protocol == GRPC:
        return f"StatusCode.{code}"
    return {"INVALID_ARGUMENT": "400", "NOT_FOUND": "404"}[code]


def slow(seconds: float) -> InferCall:
    """Return a call that takes a while."""
    return single("slow", tensor("INPUT0", np.array([seconds], np.float32)))


def array_of(output: TensorOut) -> np.ndarray[Any, Any]:
    """Return an output as an array."""
    dtype: Any = dtypes.BY_V2[output.datatype].numpy
    return np.frombuffer(bytes_of(output), dtype).reshape(output.shape)


def outcome_of(backend: Backend, call: InferCall) -> Outcome:
    """Return the outcome of an asynchronous call."""
    outcomes: SimpleQueue[Outcome] = SimpleQueue()
    backend.infer_async(call, outcomes.put)
    return outcomes.get(timeout=PATIENCE)


def strings(*values: bytes) -> bytes:
    """Return values of a BYTES tensor as they are sent."""
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)


def bytes_of(tensor: TensorOut) -> bytes:
    """Return the bytes of an output that is in the reply itself."""
    assert tensor.data is not None
    return bytes(tensor.data)

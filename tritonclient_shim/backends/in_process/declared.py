"""What a test says of its models: tensors, the function, and how requests are to be grouped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping

import numpy as np

from tritonclient_shim.core import dtypes, errors

#: Tensors by name, as a function gets and returns them; of strings, ``bytes`` in object arrays.
Arrays = Dict[str, Any]

#: Canonical gRPC name of a refusal → HTTP status.
HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


class ServerError(errors.ServerError):
    """Raised by a model's function: the server refuses the request with this very message.

    Parameters
    ----------
    message : str
        The message that the client gets.
    code : str
        The status, one of ``INVALID_ARGUMENT``, ``NOT_FOUND``, ``ALREADY_EXISTS``,
        ``RESOURCE_EXHAUSTED``, ``INTERNAL``, ``UNIMPLEMENTED``, ``UNAVAILABLE`` and
        ``DEADLINE_EXCEEDED``.
    """

    def __init__(self, message: str, code: str = "INTERNAL") -> None:
        if code not in HTTP_STATUS:
            raise ValueError(f"code is {code!r}; expected one of: {', '.join(HTTP_STATUS)}")
        super().__init__(message, code)


def invalid(message: str) -> ServerError:
    """Return the error of a request that does not fit."""
    return ServerError(message, "INVALID_ARGUMENT")


@dataclass
class Sequence:
    """The sequence that a request belongs to, as a function of a stateful model gets it.

    ``state`` is the same dict for every request from the sequence's start to its end.
    """

    id: int
    start: bool
    end: bool
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tensor:
    """One input or output of a model.

    Parameters
    ----------
    name : str
    datatype : str or numpy data type
        ``INT32``, ``TYPE_INT32`` or ``np.int32``; ``BYTES``, ``TYPE_STRING`` or ``object`` for
        strings.
    dims : sequence of int
        Those of one batch entry, without the batch dimension; -1 for any size.
    labels : sequence of str
        Of an output's classes; '' for one without.
    """

    name: str
    datatype: Any
    dims: Any
    labels: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "datatype", _datatype(self.name, self.datatype))
        object.__setattr__(self, "dims", _dims(self.name, self.dims))
        object.__setattr__(self, "labels", tuple(self.labels))


@dataclass(frozen=True)
class Model:
    """A function as a model. :func:`tritonclient_shim.testing.model` makes it."""

    versions: Mapping[int, Callable[..., Arrays]]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    max_batch_size: int = 0
    stateful: bool = False
    loaded: bool = True

    def __call__(self, *arguments: Any) -> Arrays:
        """Call the newest version's function: a decorated function works as before."""
        return self.versions[max(self.versions)](*arguments)


def config_of(name: str, model: Model) -> dict[str, Any]:
    """Return the model configuration, as a server sends it over HTTP."""
    config: dict[str, Any] = {
        "name": name,
        "platform": "",
        "backend": "python",
        "version_policy": {"all": {}},
        "max_batch_size": model.max_batch_size,
        "input": [_tensor_config(tensor) for tensor in model.inputs],
        "output": [_tensor_config(tensor) for tensor in model.outputs],
        "instance_group": [{"name": f"{name}_0", "kind": "KIND_CPU", "count": 1}],
    }
    if model.stateful:
        config["sequence_batching"] = {"max_sequence_idle_microseconds": 1_000_000}
    return config


def array_type(datatype: str) -> Any:
    """KServe v2 name → the NumPy data type of a function's arrays; of newer types the bits."""
    row = dtypes.BY_V2[datatype]
    return row.numpy or np.dtype(f"u{row.itemsize}")


def _tensor_config(tensor: Tensor) -> dict[str, Any]:
    config = {
        "name": tensor.name,
        "data_type": dtypes.v1_name(tensor.datatype),
        "dims": list(tensor.dims),
    }
    return {**config, "label_filename": f"{tensor.name}.txt"} if tensor.labels else config


def _datatype(name: str, datatype: Any) -> str:
    """Any of the ways to name a data type → its KServe v2 name."""
    for row in dtypes.TABLE:
        if isinstance(datatype, str) and datatype.upper() in (row.v1, row.v2):
            return row.v2
    try:
        dtype = np.dtype(datatype)
    except TypeError:
        dtype = None
    for row in dtypes.TABLE:
        if dtype is not None and (row.numpy == dtype or row.v2 == "BYTES" and dtype.kind in "SU"):
            return row.v2
    names = ", ".join(row.v2 for row in dtypes.TABLE)
    raise ValueError(f"the datatype of {name!r} is {datatype!r}; expected one of: {names}")


def _dims(name: str, value: Any) -> tuple[int, ...]:
    try:
        dims = tuple(value)
    except TypeError:
        dims = ()
    if not dims or not all(isinstance(n, int) and (n > 0 or n == -1) for n in dims):
        raise ValueError(
            f"the dims of {name!r} are {value!r}; expected a list of sizes from 1 on, -1 for any, "
            "without the batch dimension"
        )
    return dims

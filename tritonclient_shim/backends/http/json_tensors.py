"""Tensors as JSON, for servers without the binary tensor data extension.

Numbers are exact both ways: integers of any size, floats with all their digits. JSON has no
infinity, and none is sent. NaN is sent as ``null``, which MLServer and KServe read as NaN; but
``null`` in an answer is refused, because they write it for an infinity as well
(docs/v2-mapping.md §14).
"""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import numpy as np

from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.errors import UnreadableFault, Unsendable
from tritonclient_shim.core.model import InferCall, TensorIn
from tritonclient_shim.core.reading import shown

_REMEDY = "send it over gRPC, or to a server with the extension binary_tensor_data"


def request_body(call: InferCall) -> bytes:
    """InferCall → its body, all of it JSON; Unsendable for data that JSON cannot carry."""
    inputs = [
        {"name": one.name, "shape": one.shape, "datatype": one.datatype, "data": _values(one)}
        for one in call.inputs
    ]
    body: dict[str, Any] = {"inputs": inputs}
    if call.request_id:
        body["id"] = call.request_id
    if call.outputs:
        body["outputs"] = [{"name": one.name} for one in call.outputs]
    if call.sequence_id:
        body["parameters"] = {
            "sequence_id": call.sequence_id,
            "sequence_start": call.sequence_start,
            "sequence_end": call.sequence_end,
        }
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii")


def _values(tensor: TensorIn) -> list[Any]:
    """The elements of a tensor, flat, as JSON has them."""
    data = b"".join(tensor.chunks)
    row = dtypes.BY_V2.get(tensor.datatype)
    if row is dtypes.STRING:
        try:
            elements = byte_strings.deserialize(data)
        except ValueError as error:
            raise Unsendable(f"HTTP client failed: input '{tensor.name}' is a {error}") from error
        return [_text(tensor.name, one) for one in elements]
    if row is None or row.numpy is None:
        raise _unsendable(tensor.name, f"data of type {tensor.datatype}", "of another type")
    values = np.frombuffer(data, row.numpy)
    if row.numpy.kind != "f":
        plain: list[Any] = values.tolist()
        return plain
    if np.isinf(values).any():
        raise _unsendable(tensor.name, "an infinity", "finite numbers")
    exact: list[Any] = values.astype(np.float64).tolist()
    return [None if one != one else one for one in exact] if np.isnan(values).any() else exact


def _text(name: str, element: bytes) -> str:
    try:
        return element.decode()
    except UnicodeDecodeError:
        raise _unsendable(name, f"the bytes {shown(element)}", "UTF-8 text") from None


def _unsendable(name: str, has: str, wanted: str) -> Unsendable:
    return Unsendable(
        f"HTTP client failed: input '{name}' has {has}, which cannot be sent as JSON, the only "
        f"form that this server takes over HTTP; expected {wanted}: {_REMEDY}"
    )


# --------------------------------------------------------------------------------- answers


def tensor_data(name: str, datatype: str, values: list[Any]) -> bytes:
    """A tensor as a JSON array, flat or nested → its bytes, as the binary form has them.

    UnreadableFault for an element that is none of this data type.
    """
    row = dtypes.BY_V2.get(datatype)
    flat = _flat(values)
    if row is dtypes.STRING:
        _check(name, datatype, flat, (str,))
        return byte_strings.serialize([one.encode() for one in flat])
    if row is None or row.numpy is None:
        raise UnreadableFault(f"{shown(datatype)} has data in JSON", "binary data of this type")
    _check(name, datatype, flat, _TYPES[row.numpy.kind])
    if row.numpy.kind == "f":
        return _floats(name, row.numpy, flat)
    if row.numpy.kind in "iu":
        flat = [_integer(name, row.numpy, one) for one in flat]
    content: bytes = np.array(flat, row.numpy).tobytes()
    return content


_TYPES: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int, float),
    "u": (int, float),
    "f": (float, int),
}


def _flat(values: list[Any]) -> list[Any]:
    while values and type(values[0]) is list:
        values = list(chain.from_iterable(values))
    return values


def _check(name: str, datatype: str, values: list[Any], allowed: tuple[type, ...]) -> None:
    """UnreadableFault if one of the values has another type."""
    if {*map(type, values)} <= {*allowed}:
        return
    odd = next(one for one in values if type(one) not in allowed)
    if odd is None:
        raise UnreadableFault(
            f"output {shown(name)} has null, by which servers without binary tensors tell a NaN, "
            "and an infinity too",
            f"numbers of type {datatype}, or the same request over gRPC, which carries both",
        )
    raise UnreadableFault(f"output {shown(name)} has the value {shown(odd)}", f"type {datatype}")


def _floats(name: str, wanted: np.dtype[Any], values: list[Any]) -> bytes:
    exact = np.array(values, np.float64)
    with np.errstate(over="ignore"):
        found = exact.astype(wanted)
    if np.isinf(found).sum() != np.isinf(exact).sum():
        raise UnreadableFault(f"output {shown(name)} has a number too large", f"{wanted} numbers")
    content: bytes = found.tobytes()
    return content


def _integer(name: str, wanted: np.dtype[Any], value: float) -> int:
    limits = np.iinfo(wanted)
    number = int(value) if type(value) is int or abs(value) <= 2**53 else None
    if number is None or number != value or not limits.min <= number <= limits.max:
        raise UnreadableFault(f"output {shown(name)} has the value {value!r}", f"{wanted} numbers")
    return number

"""Outputs as lists of numbers instead of raw bytes over gRPC (KServe v2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.grpc.framing import decode_reply
from tritonclient_shim.core.errors import ForeignError, UnreadableReply


def reply(datatype: str, shape: list[int], raw: tuple[bytes, ...] = (), **contents: Any) -> bytes:
    """Return a serialised answer with one output."""
    message = service_pb2.ModelInferResponse(model_name="m", raw_output_contents=raw)
    output = message.outputs.add(name="y", datatype=datatype, shape=shape)
    output.contents.SetInParent()
    for name, values in contents.items():
        getattr(output.contents, name).extend(values)
    return bytes(message.SerializeToString())


@pytest.mark.parametrize(
    ("datatype", "field", "values"),
    [
        ("BOOL", "bool_contents", [True, False]),
        ("INT8", "int_contents", [-128, 127]),
        ("INT32", "int_contents", [-(2**31), 1]),
        ("INT64", "int64_contents", [-(2**63), 2**63 - 1]),
        ("UINT16", "uint_contents", [0, 65535]),
        ("UINT64", "uint64_contents", [2**64 - 1, 2**53 + 1]),
        ("FP32", "fp32_contents", [0.1, float("inf")]),
        ("FP64", "fp64_contents", [0.1, 5e-324]),
    ],
)
def test_numbers(datatype: str, field: str, values: list[Any]) -> None:
    """Every type with such a list is read exactly."""
    kind = {"BOOL": "bool", "FP32": "f4", "FP64": "f8"}.get(datatype, datatype.lower())
    contents: Any = {field: values}
    (tensor,) = decode_reply(reply(datatype, [2], **contents)).outputs
    assert tensor.data == np.array(values, kind).tobytes()


def test_strings() -> None:
    """String elements get lengths, as in raw bytes."""
    (tensor,) = decode_reply(reply("BYTES", [2], bytes_contents=[b"", b"\xff"])).outputs
    assert tensor.data == b"\0\0\0\0\1\0\0\0\xff"


def test_raw_bytes_win() -> None:
    """An empty list beside raw bytes, as MLServer sends, is ignored."""
    (tensor,) = decode_reply(reply("INT8", [2], (b"ab",))).outputs
    assert tensor.data == b"ab"


def test_value_out_of_range() -> None:
    """A number outside its type is refused, not cut."""
    with pytest.raises(UnreadableReply, match="out of range"):
        decode_reply(reply("INT8", [1], int_contents=[128]))


@pytest.mark.parametrize(("datatype", "shape"), [("FP16", [1]), ("INT8", [2])])
def test_missing_data(datatype: str, shape: list[int]) -> None:
    """An output with neither list nor bytes is an invalid reply."""
    with pytest.raises(ForeignError):
        decode_reply(reply(datatype, shape))

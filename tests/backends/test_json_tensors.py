"""Tensors as JSON, in both directions (KServe v2)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tritonclient_shim.backends.http.framing import json_request, tensor_data
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import UnreadableReply, Unsendable
from tritonclient_shim.core.model import InferCall, OutputSpec, TensorIn
from tritonclient_shim.core.reading import read

NUMERIC = [row for row in dtypes.TABLE if row.numpy is not None and row is not dtypes.STRING]


def sent(datatype: str, *chunks: bytes) -> Any:
    """Return the elements of a tensor as a server reads them."""
    size = sum(map(len, chunks))
    tensor = TensorIn("x", datatype, (1,), chunks, size)
    return json.loads(json_request(InferCall("m", "", (tensor,), ())))["inputs"][0]["data"]


@given(st.data())
def test_numbers_are_exact(data: st.DataObject) -> None:
    """Every finite number of every type comes back bit by bit, with any number of digits."""
    row = data.draw(st.sampled_from(NUMERIC))
    assert row.numpy is not None
    finite: Any = {"allow_nan": False, "allow_infinity": False} if row.numpy.kind == "f" else {}
    elements = arrays.from_dtype(row.numpy, **finite)
    array = data.draw(arrays.arrays(row.numpy, st.integers(0, 6), elements=elements))
    assert tensor_data("x", row.v2, sent(row.v2, array.tobytes())) == array.tobytes()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings_are_exact(texts: list[str]) -> None:
    """Strings are JSON strings, with zero bytes and all of Unicode."""
    encoded = [text.encode() for text in texts]
    data = b"".join(len(element).to_bytes(4, "little") + element for element in encoded)
    assert sent("BYTES", data) == texts
    assert tensor_data("x", "BYTES", texts) == data


def test_form_of_a_request() -> None:
    """JSON has flat data of all batch entries, outputs by name, and no binary parameters."""
    tensor = TensorIn("x", "INT8", (2, 1), (b"\1", b"\2"), 2)
    call = InferCall("m", "", (tensor,), (OutputSpec("y"),), "7", binary=False)
    assert json.loads(json_request(call)) == {
        "id": "7",
        "inputs": [{"name": "x", "shape": [2, 1], "datatype": "INT8", "data": [1, 2]}],
        "outputs": [{"name": "y"}],
    }


def test_nan_is_null() -> None:
    """NaN is sent as null, which MLServer and KServe read as NaN."""
    assert sent("FP32", np.array([np.nan, 1], np.float32).tobytes()) == [None, 1.0]


@pytest.mark.parametrize(
    ("datatype", "data", "wrong"),
    [
        ("FP16", np.array([np.inf], np.float16).tobytes(), "an infinity"),
        ("FP64", np.array([-np.inf]).tobytes(), "an infinity"),
        ("BYTES", b"\1\0\0\0\xff", r"the bytes b'\\xff'"),
        ("BF16", b"\0\0", "data of type BF16"),
    ],
)
def test_what_json_cannot_carry(datatype: str, data: bytes, wrong: str) -> None:
    """A value that JSON cannot carry is refused, with what is wrong and what to do."""
    with pytest.raises(Unsendable, match=f"input 'x' has {wrong}, .* send it over gRPC"):
        sent(datatype, data)


@pytest.mark.parametrize("data", [b"\1\0\0", b"\2\0\0\0a"])
def test_broken_strings(data: bytes) -> None:
    """Strings that end before their length are refused, and nothing is sent."""
    with pytest.raises(Unsendable, match="input 'x' is a malformed string tensor: .*; expected"):
        sent("BYTES", data)


@pytest.mark.parametrize(
    ("datatype", "values"),
    [
        ("FP32", [1.0, None]),
        ("FP32", ["1"]),
        ("FP32", [1e300]),
        ("INT8", [128]),
        ("INT8", [1.5]),
        ("UINT8", [-1]),
        ("INT64", [1e17]),
        ("BOOL", [1]),
        ("BYTES", [b"a".decode(), 1]),
        ("INT8", [[1], [2, [3]]]),
    ],
)
def test_what_is_no_element(datatype: str, values: list[Any]) -> None:
    """A reply with a value outside its type is refused, never rounded or cut."""
    with pytest.raises(UnreadableReply):
        read(tensor_data, "x", datatype, values)

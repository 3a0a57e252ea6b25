"""STRING tensors as inputs and results (docs/v1-behaviour.md §3.6, §4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.generation_marks import not_on
from tests.server.infer_cases import BOTH, ONE, client_error, server_error

pytest_plugins = ["tests.server.infer_fixtures"]


def objects(*values: Any) -> np.ndarray[Any, Any]:
    """A 1-D object array of exactly these values."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


ARRAYS: dict[str, tuple[np.ndarray[Any, Any], list[bytes]]] = {
    "str": (objects("a", "bc", ""), [b"a", b"bc", b""]),
    "UTF-8": (objects("é", "日本", "\U0001f600"), ["é".encode(), "日本".encode(), "😀".encode()]),
    "NUL in str": (objects("a\0b", "c\0", "\0"), [b"a\0b", b"c\0", b"\0"]),
    "numbers": (
        objects(1, 2.5, None, True, 2**70),
        [b"1", b"2.5", b"None", b"True", b"%d" % 2**70],
    ),
    "np.str_": (objects(np.str_("x")), [b"x"]),
    "containers": (objects([1, 2], (3,)), [b"[1, 2]", b"(3,)"]),
    # v1 sent the repr of bytes; known difference
    "bytes": (objects(b"a", b"\xff\0", np.bytes_(b"y")), [b"a", b"\xff\0", b"y"]),
    "S": (np.array([b"a", b"bc", b""]), [b"a", b"bc", b""]),
    "S, NUL": (np.array([b"a\0", b"\0b", b"x\0y\0"], "S4"), [b"a", b"\0b", b"x\0y"]),
    "S, not UTF-8": (np.array([b"\xff\xfe"]), [b"\xff\xfe"]),
    # v1 sent the memory of U arrays; known difference
    "U": (np.array(["é", "bc", ""]), ["é".encode(), b"bc", b""]),
    "empty object": (objects(), []),
    "empty S": (np.empty(0, "S5"), []),
    "empty U": (np.empty(0, "U5"), []),
    "long": (objects("x" * 70000), [b"x" * 70000]),
}


@pytest.mark.parametrize("case", ARRAYS)
@pytest.mark.parametrize("model", ["identity_string", "identity_string_nobatch"])
@pytest.mark.smoke
def test_elements(connect: Any, model: str, case: str) -> None:
    """What each kind of array sends; object arrays of bytes come back."""
    # docs/v1-behaviour.md §3.6, §4.1
    array, expected = ARRAYS[case]
    (got,) = connect(model).run({"INPUT0": [array]}, ONE)["OUTPUT0"]
    assert got.dtype == object
    assert got.shape == array.shape
    assert got.tolist() == expected
    assert all(type(element) is bytes for element in got)


def test_batch(connect: Any) -> None:
    """The elements of one entry, then those of the next; kinds may be mixed."""
    # docs/v1-behaviour.md §3.6
    arrays = [objects("a", 1), np.array([b"bb", b""]), np.array(["c", "é"])]
    results = connect("identity_string").run({"INPUT0": arrays}, ONE, 3)
    expected = [[b"a", b"1"], [b"bb", b""], [b"c", "é".encode()]]
    assert [entry.tolist() for entry in results["OUTPUT0"]] == expected


def test_layouts(connect: Any) -> None:
    """C order: sixteen strings from a transposed, a strided and a reversed array."""
    # docs/v1-behaviour.md §3.6
    square = np.array([[f"{i}{j}" for j in range(4)] for i in range(4)], object)
    flat = [f"{j}{i}" for i in range(4) for j in range(4)]
    arrays = [square.T.reshape(16), np.repeat(objects(*flat), 2)[::2], objects(*flat[::-1])[::-1]]
    results = connect("identity_string").run({"INPUT0": arrays}, ONE, 3)
    expected = [text.encode() for text in flat]
    assert [entry.tolist() for entry in results["OUTPUT0"]] == [expected] * 3


def test_first_shape_counts(connect: Any) -> None:
    """Shape of the first array: other entries may be of another shape, same count."""
    # docs/v1-behaviour.md §3.3
    arrays = [objects("a", "b"), objects("c", "d").reshape(2, 1)]
    results = connect("identity_string").run({"INPUT0": arrays}, ONE, 2)
    assert [entry.tolist() for entry in results["OUTPUT0"]] == [[b"a", b"b"], [b"c", b"d"]]


@not_on("2.33", "leaves it to the model to look into a tensor of strings")
def test_uneven_batch(connect: Any) -> None:
    """The client does not check the size of strings; the server refuses a wrong count."""
    # docs/v1-behaviour.md §3.3
    with server_error("expected 4 string elements for inference input 'INPUT0'"):
        connect("identity_string").run({"INPUT0": [objects("a", "b"), objects("c")]}, ONE, 2)


def test_wrong_shape(connect: Any) -> None:
    """Shape: string tensors are refused like others (docs/v1-behaviour.md §3.4)."""
    square, flat = np.full((4, 4), b"1"), np.full(16, b"1")
    message = "unexpected shape for input 'INPUT0' for model 'simple_string'. Expected [16], got"
    with server_error(f"{message} [4,4]"):
        connect("simple_string").run({"INPUT0": [square], "INPUT1": [flat]}, BOTH)


def test_unpaired_surrogate(connect: Any) -> None:
    """Half a surrogate pair has no UTF-8; UnicodeEncodeError, and the context lives."""
    # docs/v1-behaviour.md §3.6
    context = connect("identity_string")
    with pytest.raises(UnicodeEncodeError):
        context.run({"INPUT0": [objects("ok", "\ud800")]}, ONE)
    assert len(context.run({"INPUT0": [objects("ok")]}, ONE)["OUTPUT0"]) == 1


@not_on("2.33", "leaves it to the model to look into a tensor of strings")
def test_numbers_for_strings(connect: Any) -> None:
    """Numeric array into STRING: its memory is sent as it is, here one element ``ab``."""
    # docs/v1-behaviour.md §3.6
    array = np.array([2, 0x6261], np.int32).view(np.int64)[:1]
    raw = np.frombuffer(b"\x02\x00\x00\x00ab", np.uint8)
    with server_error("incomplete string length indicator for inference input 'INPUT0'"):
        connect("identity_string").run({"INPUT0": [array]}, ONE)
    shaped = np.frombuffer(raw.tobytes(), "V6")
    (got,) = connect("identity_string").run({"INPUT0": [shaped]}, ONE)["OUTPUT0"]
    assert got.tolist() == [b"ab"]


@pytest.mark.smoke
def test_decimal_strings(connect: Any) -> None:
    """The string model of NVIDIA's examples; elements are decoded by users."""
    # docs/v1-behaviour.md §F.4
    numbers = objects(*(str(n) for n in range(16)))
    ones = np.full(16, b"1")
    results = connect("simple_string").run({"INPUT0": [numbers], "INPUT1": [ones]}, BOTH)
    sums = [int(text.decode("utf-8")) for text in results["OUTPUT0"][0].flat]
    assert sums == [n + 1 for n in range(16)]
    assert results["OUTPUT1"][0][0] == b"-1"


def test_strings_for_numbers(connect: Any) -> None:
    """Object and S arrays are serialised whatever the tensor's type: 4 + n bytes each."""
    # docs/v1-behaviour.md §3.6
    with client_error("invalid size 10 bytes for input 'INPUT0', expects 8 bytes"):
        connect("identity_int32").run({"INPUT0": [objects("a", "b")]}, ONE)


def test_thousand_strings(connect: Any) -> None:
    """Many strings of many lengths (docs/v1-behaviour.md §3.6)."""
    texts = ["x" * (n % 97) + str(n) for n in range(1000)]
    (got,) = connect("identity_string").run({"INPUT0": [objects(*texts)]}, ONE)["OUTPUT0"]
    assert got.tolist() == [text.encode() for text in texts]

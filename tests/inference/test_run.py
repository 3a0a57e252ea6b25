"""run(): arrays, batches, strings, datatypes, order of checks (docs/v1-behaviour.md §3, §4.1)."""

from __future__ import annotations

import ctypes
import queue
import re
from typing import Any, Callable

import numpy as np
import pytest
from tritonclient.utils import serialize_byte_tensor

import tensorrtserver.api as api
from tensorrtserver import cuda_shared_memory, shared_memory
from tensorrtserver.api import InferenceServerException
from tests.generation_marks import not_on
from tests.infer_cases import (
    BOTH,
    ONE,
    RAMP,
    add_sub,
    client_error,
)


@pytest.mark.smoke
def test_text_into_int32(connect: Any) -> None:
    """S and object arrays are serialised as strings, whatever the tensor's datatype is."""
    # docs/v1-behaviour.md §3.3, §3.6
    for array in (np.full(16, b"abcd"), np.full(16, "abcd", object)):
        with client_error("invalid size 128 bytes for input 'INPUT0', expects 64 bytes"):
            connect("simple").run({"INPUT0": [array], "INPUT1": [RAMP]}, BOTH)


def layouts() -> dict[str, Any]:
    """Return one 6×2 matrix in every memory layout."""
    matrix = np.arange(12, dtype=np.float32).reshape(6, 2)
    wide = np.zeros((12, 4), np.float32)
    wide[::2, ::2] = matrix
    frozen = matrix.copy()
    frozen.flags.writeable = False
    unaligned = np.frombuffer(b"x" + matrix.tobytes(), np.float32, offset=1).reshape(6, 2)
    with_matrix = np.asarray(matrix).view(np.matrix)
    return {
        "plain": matrix,
        "Fortran": np.asfortranarray(matrix),
        "transposed": np.ascontiguousarray(matrix.T).T,
        "strided": wide[::2, ::2],
        "reversed": matrix[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": frozen,
        "unaligned": unaligned,
        "broadcast": np.broadcast_to(matrix, (6, 2)),
        "matrix": with_matrix,
        "masked": np.ma.masked_less(matrix, 5),
        "memmap-like": matrix.view(np.recarray),
    }


@pytest.mark.smoke
def test_layouts(connect: Any) -> None:
    """Arrays of any layout are sent in C order.

    Masks are ignored, and the arrays stay unchanged.
    """
    # docs/v1-behaviour.md §3.3
    context, expected = connect("identity_2d"), np.arange(12).reshape(6, 2).tolist()
    for layout, array in layouts().items():
        before = np.asarray(array).copy()
        results = context.run({"INPUT0": [array, array]}, ONE, 2)
        assert [entry.tolist() for entry in results["OUTPUT0"]] == [expected] * 2, layout
        assert [entry.shape for entry in results["OUTPUT0"]] == [(6, 2)] * 2, layout
        assert np.array_equal(np.asarray(array), before), layout


@pytest.mark.smoke
def test_batches(connect: Any) -> None:
    """A batch may be as large as the model's maximum. Each entry gets its own result."""
    # docs/v1-behaviour.md §3.5
    context = connect("simple")
    for batch_size in (1, 2, 8):
        arrays = [RAMP + entry for entry in range(batch_size)]
        results = context.run({"INPUT0": arrays, "INPUT1": arrays}, BOTH, batch_size)
        sums = [entry.tolist() for entry in results["OUTPUT0"]]
        assert sums == [(2 * array).tolist() for array in arrays]
    assert context.run(add_sub(), BOTH, 0) == {"OUTPUT0": [], "OUTPUT1": []}


def objects(*values: Any) -> np.ndarray[Any, Any]:
    """Return a 1-D object array of exactly these values."""
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


@pytest.mark.parametrize("model", ["identity_string", "identity_string_nobatch"])
@pytest.mark.smoke
def test_elements(connect: Any, model: str) -> None:
    """Each kind of array is sent as v1 sent it, and object arrays of bytes come back."""
    # docs/v1-behaviour.md §3.6, §4.1
    context = connect(model)
    for case, (array, expected) in ARRAYS.items():
        (got,) = context.run({"INPUT0": [array]}, ONE)["OUTPUT0"]
        assert (got.dtype, got.shape, got.tolist()) == (object, array.shape, expected), case
        assert all(type(element) is bytes for element in got), case


def string_subclasses() -> dict[str, np.ndarray[Any, Any]]:
    """Return the strings a, bc, d, e in arrays of NumPy's subclasses."""
    texts = objects("a", "bc", "d", "e").reshape(2, 2)
    short = texts.astype("S")
    return {
        "masked objects": np.ma.array(texts, mask=[[False, True], [False, False]]),
        "masked S": np.ma.array(short, mask=[[False, True], [False, False]]),
        "matrix of objects": texts.view(np.matrix),
        "matrix of S": short.view(np.matrix),
    }


@pytest.mark.parametrize("case", string_subclasses())
def test_string_subclasses(connect: Any, case: str) -> None:
    """All elements of masked arrays and matrices of strings are sent, by run and async_run."""
    # docs/v1-behaviour.md §3.3
    array = string_subclasses()[case]
    context = connect("identity_string_2d")
    expected = [[b"a", b"bc"], [b"d", b"e"]]
    assert context.run({"INPUT0": [array]}, ONE)["OUTPUT0"][0].tolist() == expected
    ids: queue.Queue[int] = queue.Queue()
    context.async_run(lambda _, request_id: ids.put(request_id), {"INPUT0": [array]}, ONE)
    result = context.get_async_run_results(ids.get(timeout=60))
    assert result["OUTPUT0"][0].tolist() == expected
    for module in (api, shared_memory, cuda_shared_memory):
        wire_form = module.serialize_string_tensor(array).item()
        assert wire_form == serialize_byte_tensor(np.asarray(array)).item()


def test_types_without_a_buffer(connect: Any) -> None:
    """Arrays whose types NumPy offers as no buffer are sent as their bytes."""
    dates = np.array(["2019-01-01", "2020-02-02"], "M8[s]")
    records = np.array([(date,) for date in dates], [("date", "M8[s]")])
    for array in (dates, records, records.reshape(2, 1)[:, 0]):
        (result,) = connect("identity_int64").run({"INPUT0": [array]}, ONE)["OUTPUT0"]
        assert result.tobytes() == dates.tobytes()


def test_type_of_another_package(connect: Any) -> None:
    """Arrays of ml_dtypes, as of bfloat16, are sent as their bytes."""
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    (result,) = connect("identity_uint16").run({"INPUT0": [array]}, ONE)["OUTPUT0"]
    assert result.tobytes() == array.tobytes()


@pytest.mark.skipif(np.__version__ < "2", reason="NumPy 1 has no StringDType")
def test_numpy_string_type(connect: Any) -> None:
    """Arrays of NumPy's StringDType are sent as text, and refused for a tensor of numbers."""
    array = np.array(["a", "é"], np.dtypes.StringDType())
    (result,) = connect("identity_string").run({"INPUT0": [array]}, ONE)["OUTPUT0"]
    assert result.tolist() == [b"a", "é".encode()]
    array = np.array(["abcd"] * 16, np.dtypes.StringDType())
    with client_error("invalid size 128 bytes for input 'INPUT0', expects 64 bytes"):
        connect("simple").run({"INPUT0": [array], "INPUT1": [RAMP]}, BOTH)


NUMBERS = {
    **{name: np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: np.dtype(name) for name in ("int8", "int16", "int32", "int64")},
    "fp16": np.dtype("float16"),
    "fp32": np.dtype("float32"),
    "fp64": np.dtype("float64"),
    "bool": np.dtype("bool"),
}


def extremes(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return values at the ends of a type's range, and the special values of floating point."""
    if dtype.kind == "b":
        return np.array([True, False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1], dtype)
    limits = np.finfo(dtype)
    odd = [np.nan, np.inf, -np.inf, -0.0, 0.1, limits.min, limits.max, limits.tiny / 2]
    return np.array(odd, dtype)


@pytest.mark.smoke
def test_every_number_type(connect: Any) -> None:
    """A result has the configured dtype. Every bit arrives, NaN, -0.0 and denormals included."""
    # docs/v1-behaviour.md §4.1
    for name, dtype in NUMBERS.items():
        array = extremes(dtype)
        results = connect(f"identity_{name}").run({"INPUT0": [array, array[::-1]]}, ONE, 2)
        first, second = results["OUTPUT0"]
        assert (first.dtype, second.dtype) == (dtype, dtype)
        assert first.tobytes() == array.tobytes(), name
        assert second.tobytes() == array[::-1].tobytes(), name


@not_on("2.33", "has no BF16 in its Python backend")
def test_type_unknown_to_v1(connect: Any) -> None:
    """An output of the datatype BF16, newer than v1, is refused with what can be requested."""
    # docs/v1-behaviour.md §4.1
    context = connect("identity_bf16")
    with pytest.raises(InferenceServerException, match="unknown result datatype 14: expected"):
        context.run({"INPUT0": [np.zeros(2, np.uint16)]}, ONE)
    assert context.run({"INPUT0": [np.zeros(2, np.uint16)]}, {}) == {}


#: Errors in the order of the checks, each with the error it causes.
ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "input type": ({"inputs": {"NOPE": 5}}, "input 'NOPE' values must be specified as a list"),
    "flags": ({"flags": "1"}, "argument 2: <class 'TypeError'>: wrong type"),
    "batch_size": ({"batch_size": 1.0}, "argument 3: <class 'TypeError'>: wrong type"),
    "corr_id": ({"corr_id": None}, "argument 4: <class 'TypeError'>: wrong type"),
    "priority": ({"priority": 1.5}, "argument 5: <class 'TypeError'>: wrong type"),
    "timeout_us": ({"timeout_us": "9"}, "argument 6: <class 'TypeError'>: wrong type"),
    "output": ({"outputs": {"NOPE": (1,)}}, "unknown output 'NOPE' for 'simple'"),
    "batch": ({"batch_size": 9}, "run batch-size 9 exceeds maximum batch size 8"),
    "input name": ({"inputs": {"NOPE": [RAMP]}}, "unknown input 'NOPE' for 'simple'"),
    "input size": ({"inputs": {"INPUT0": [RAMP.view("i8")]}}, "invalid size"),
}


NAMES = list(ERRORS)


def styles() -> dict[str, Callable[..., Any]]:
    """Return the ways to send a request. All check in one order (docs/v1-behaviour.md §5)."""
    return {
        "run": lambda context, **arguments: context.run(**arguments),
        "callback": lambda context, **arguments: context.async_run(callback=print, **arguments),
        "id": lambda context, **arguments: context.async_run(**arguments),
    }


def error(name: str) -> Any:
    """Check that the block raises the error of this row."""
    expected = (InferenceServerException, ctypes.ArgumentError)
    return pytest.raises(expected, match=re.escape(ERRORS[name][1]))


@pytest.mark.parametrize("style", styles())
@pytest.mark.smoke
def test_first_error_wins(connect: Any, style: str) -> None:
    """Of two errors in a request, the error of the earlier check is reported."""
    # docs/v1-behaviour.md §3.2
    context = connect("simple")
    for place, first in enumerate(NAMES):
        for second in NAMES[place:]:
            arguments = {"inputs": add_sub(), "outputs": BOTH}
            arguments.update(ERRORS[second][0])
            arguments.update(ERRORS[first][0])
            with error(first):
                styles()[style](context, **arguments)

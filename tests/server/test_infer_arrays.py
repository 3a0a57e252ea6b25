"""What the arrays of ``inputs`` become on the wire: bytes, shapes, layouts
(docs/v1-behaviour.md §3.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.server.infer_cases import BOTH, ONE, RAMP, SUM, client_error, server_error

pytest_plugins = ["tests.server.infer_fixtures"]


def test_shape_of_the_first_array_counts(connect: Any) -> None:
    """Further arrays of a batch may have another shape of the same size."""
    # docs/v1-behaviour.md §3.3
    arrays = [RAMP, RAMP.reshape(4, 4)]
    results = connect("simple").run({"INPUT0": arrays, "INPUT1": [RAMP] * 2}, BOTH, 2)
    assert [entry.shape for entry in results["OUTPUT0"]] == [(16,), (16,)]
    assert results["OUTPUT0"][1].tolist() == SUM
    with client_error("invalid size 32 bytes for input 'INPUT0', expects 64 bytes"):
        connect("simple").run({"INPUT0": [RAMP, RAMP[:8]], "INPUT1": [RAMP] * 2}, BOTH, 2)


@pytest.mark.parametrize("shape", [(1, 16), (4, 4), (16, 1)])
def test_shape_is_the_servers_business(connect: Any, shape: tuple[int, ...]) -> None:
    """Shape: arrays come without batch dimension; else refused with v1's shapes."""
    # docs/v1-behaviour.md §3.3, §3.4
    text = ",".join(map(str, shape))
    message = f"unexpected shape for input 'INPUT0' for model 'simple'. Expected [16], got [{text}]"
    with server_error(message):
        connect("simple").run({"INPUT0": [RAMP.reshape(shape)], "INPUT1": [RAMP]}, BOTH)


@pytest.mark.parametrize("model", ["simple", "identity_fp32"])
def test_zero_dimensions(connect: Any, model: str) -> None:
    """0-d arrays: a shape without dimensions has no elements, so 4 bytes are too many."""
    # docs/v1-behaviour.md §3.3
    with client_error("invalid size 4 bytes for input 'INPUT0', expects 0 bytes"):
        connect(model).run({"INPUT0": [np.array(1, np.int32)]}, {"OUTPUT0": (1,)})


def test_reinterpreted(connect: Any) -> None:
    """Data of another dtype and equal size passes bit for bit (docs/v1-behaviour.md §3.3, §F.3)."""
    for dtype in ("f4", "u4", ">i4", ">f4"):
        array = np.arange(16).astype(dtype)
        got = connect("simple").run({"INPUT0": [array], "INPUT1": [RAMP * 0]}, BOTH)
        assert got["OUTPUT0"][0].tolist() == array.view("<i4").tolist()


@pytest.mark.smoke
def test_text_into_int32(connect: Any) -> None:
    """S and object arrays are serialised whatever the tensor's type."""
    # docs/v1-behaviour.md §3.3, §3.6
    for array in (np.full(16, b"abcd"), np.full(16, "abcd", object)):
        with client_error("invalid size 128 bytes for input 'INPUT0', expects 64 bytes"):
            connect("simple").run({"INPUT0": [array], "INPUT1": [RAMP]}, BOTH)


def test_float64_into_int64(connect: Any) -> None:
    """float64 data for an INT64 tensor (docs/v1-behaviour.md §F.3)."""
    array = np.array([1.5, -2.25])
    (got,) = connect("identity_int64").run({"INPUT0": [array]}, ONE)["OUTPUT0"]
    assert got.dtype == np.int64
    assert got.view(np.float64).tolist() == [1.5, -2.25]


def test_dates_as_int64(connect: Any) -> None:
    """No check of the dtype, so dates and time spans go as their eight bytes."""
    # docs/v1-behaviour.md §3.3
    for dtype in ("M8[s]", "m8[ns]"):
        array = np.array([5, 6], "i8").view(dtype)
        (got,) = connect("identity_int64").run({"INPUT0": [array]}, ONE)["OUTPUT0"]
        assert got.tolist() == [5, 6]


def test_structured_and_void_arrays(connect: Any) -> None:
    """Structured data of the right size passes as bytes (docs/v1-behaviour.md §3.3)."""
    for dtype in ([("a", "<i2"), ("b", "<i2")], "V4"):
        array = RAMP.view(dtype)
        got = connect("simple").run({"INPUT0": [array], "INPUT1": [RAMP]}, BOTH)
        assert got["OUTPUT0"][0].tolist() == SUM


def layouts() -> dict[str, Any]:
    """The same 6×2 matrix in every memory layout."""
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


@pytest.mark.parametrize("layout", layouts())
@pytest.mark.smoke
def test_layouts(connect: Any, layout: str) -> None:
    """Arrays of any layout are sent in C order; masks are ignored; nothing is changed."""
    # docs/v1-behaviour.md §3.3
    array = layouts()[layout]
    before = np.asarray(array).copy()
    results = connect("identity_2d").run({"INPUT0": [array, array]}, ONE, 2)
    expected = np.arange(12).reshape(6, 2).tolist()
    assert [entry.tolist() for entry in results["OUTPUT0"]] == [expected] * 2
    assert [entry.shape for entry in results["OUTPUT0"]] == [(6, 2)] * 2
    assert np.array_equal(np.asarray(array), before)


def test_broadcast_scalar(connect: Any) -> None:
    """Non-contiguous: an array of stride 0 is sent as what it looks like."""
    # docs/v1-behaviour.md §3.3
    array = np.broadcast_to(np.float32(7), (3, 2))
    assert (
        connect("identity_2d").run({"INPUT0": [array]}, ONE)["OUTPUT0"][0].tolist() == [[7, 7]] * 3
    )


def test_same_array_in_every_place(connect: Any) -> None:
    """The same array object for every entry of a batch and both inputs."""
    # docs/v1-behaviour.md §F.3
    results = connect("simple").run({"INPUT0": [RAMP] * 8, "INPUT1": [RAMP] * 8}, BOTH, 8)
    assert [entry.tolist() for entry in results["OUTPUT0"]] == [SUM] * 8


def test_order_of_inputs_is_free(connect: Any) -> None:
    """Inputs are told by name; data goes to the right one whatever the dict's order."""
    # docs/v1-behaviour.md §3.3
    inputs = {"INPUT1": [RAMP], "INPUT0": [RAMP * 3]}
    assert connect("simple").run(inputs, BOTH)["OUTPUT1"][0].tolist() == SUM


def test_variable_dimensions(connect: Any) -> None:
    """Variable dims: the shape comes from the array, anew for each run."""
    # docs/v1-behaviour.md §3.3
    context = connect("identity_2d")
    for shape in ((1, 1), (3, 2), (2, 7), (1, 1)):
        array = np.random.default_rng(1).random(shape, np.float32)
        (got,) = context.run({"INPUT0": [array]}, ONE)["OUTPUT0"]
        assert np.array_equal(got, array)


def test_inputs_of_different_shape(connect: Any) -> None:
    """Variable dims: each input has its own shape (docs/v1-behaviour.md §3.3)."""
    inputs = {"INPUT0": [np.ones(3, np.float32)] * 2, "INPUT1": [np.zeros(5, np.float32)] * 2}
    results = connect("two_inputs_variable").run(inputs, BOTH, 2)
    assert [[e.shape for e in results[name]] for name in BOTH] == [[(3,)] * 2, [(5,)] * 2]


def test_reshape_is_invisible(connect: Any) -> None:
    """Reshape: the client uses ``dims``, both ways (docs/v1-behaviour.md §3.3)."""
    array = np.arange(4, dtype=np.float32)
    results = connect("identity_reshape").run({"INPUT0": [array] * 2}, ONE, 2)
    assert [entry.tolist() for entry in results["OUTPUT0"]] == [array.tolist()] * 2
    with server_error("unexpected shape for input 'INPUT0' for model 'identity_reshape'."):
        connect("identity_reshape").run({"INPUT0": [array.reshape(2, 2)]}, ONE)


def test_odd_tensor_names(connect: Any) -> None:
    """Tensor names with ``/`` and ``:`` (docs/v1-behaviour.md §F.3)."""
    array = np.arange(4, dtype=np.float32)
    results = connect("tensor_names").run(
        {"in/put:0": [array]}, {"out/put:1": (1,), "out/put:0": (1,)}
    )
    assert results["out/put:1"][0].tolist() == (2 * array).tolist()
    assert results["out/put:0"][0].tolist() == array.tolist()


def test_large_input(connect: Any) -> None:
    """Tensors of several megabytes arrive whole (docs/v1-behaviour.md §3.3)."""
    array = np.random.default_rng(3).random((600, 2000), np.float32)
    (got,) = connect("identity_2d").run({"INPUT0": [array]}, ONE)["OUTPUT0"]
    assert np.array_equal(got, array)

"""RAW results: all thirteen datatypes both ways, and what the arrays are like
(docs/v1-behaviour.md §4.1, §3.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferenceServerException
from tests.generation_marks import not_on
from tests.server.infer_cases import BOTH, ONE, RAMP, SUM, add_sub, client_error, fp32, server_error

pytest_plugins = ["tests.server.infer_fixtures"]

NUMBERS = {
    **{name: np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: np.dtype(name) for name in ("int8", "int16", "int32", "int64")},
    "fp16": np.dtype("float16"),
    "fp32": np.dtype("float32"),
    "fp64": np.dtype("float64"),
    "bool": np.dtype("bool"),
}


def extremes(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Values at the ends of a type's range, and the odd ones of floating point."""
    if dtype.kind == "b":
        return np.array([True, False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1], dtype)
    limits = np.finfo(dtype)
    odd = [np.nan, np.inf, -np.inf, -0.0, 0.1, limits.min, limits.max, limits.tiny / 2]
    return np.array(odd, dtype)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.smoke
def test_every_number_type(connect: Any, name: str) -> None:
    """dtype: as configured; every bit arrives, NaN, -0.0 and denormals included."""
    # docs/v1-behaviour.md §4.1
    array = extremes(NUMBERS[name])
    results = connect(f"identity_{name}").run({"INPUT0": [array, array[::-1]]}, ONE, 2)
    first, second = results["OUTPUT0"]
    assert (first.dtype, second.dtype) == (NUMBERS[name], NUMBERS[name])
    assert first.tobytes() == array.tobytes()
    assert second.tobytes() == array[::-1].tobytes()


@pytest.mark.parametrize("name", [*NUMBERS, "string"])
@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.smoke
def test_zero_size(connect: Any, name: str, batch_size: int) -> None:
    """Empty tensors: no data, one empty array of the right type per entry."""
    # docs/v1-behaviour.md §3.3, §4.1
    dtype = NUMBERS.get(name, np.dtype(object))
    empty = np.empty(0, dtype)
    results = connect(f"identity_{name}").run({"INPUT0": [empty] * batch_size}, ONE, batch_size)
    shapes = [(entry.shape, entry.dtype) for entry in results["OUTPUT0"]]
    assert shapes == [((0,), dtype)] * batch_size


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("model", ["identity_2d", "identity_nobatch"])
def test_zero_size_shapes(connect: Any, model: str, shape: tuple[int, int]) -> None:
    """Empty tensors: the shape comes back, with and without batching."""
    # docs/v1-behaviour.md §4.1
    (got,) = connect(model).run({"INPUT0": [np.empty(shape, np.float32)]}, ONE)["OUTPUT0"]
    assert (got.shape, got.dtype) == (shape, np.float32)


def test_empty_of_another_type(connect: Any) -> None:
    """No check of the dtype, so any empty array will do (docs/v1-behaviour.md §3.3)."""
    for dtype in ("f8", "O", "S3", "U2", "?"):
        (got,) = connect("identity_int32").run({"INPUT0": [np.empty(0, dtype)]}, ONE)["OUTPUT0"]
        assert (got.shape, got.dtype) == ((0,), np.int32)


@pytest.mark.parametrize("model", ["identity_int64", "identity_string", "identity_nobatch"])
def test_arrays_are_private(connect: Any, model: str) -> None:
    """Entries are writable, C-contiguous, independent of each other and the context."""
    # docs/v1-behaviour.md §4.1
    arrays = {
        "identity_int64": np.arange(3),
        "identity_string": np.array(["a", "b"], object),
        "identity_nobatch": np.ones((2, 3), np.float32),
    }
    rows = 1 if model == "identity_nobatch" else 3
    context = connect(model)
    results = context.run({"INPUT0": [arrays[model]] * rows}, ONE, rows)
    context.close()
    before = [entry.tolist() for entry in results["OUTPUT0"]]
    results["OUTPUT0"][0][...] = 7
    for entry in results["OUTPUT0"]:
        assert type(entry) is np.ndarray
        assert entry.flags.writeable
        assert entry.flags.c_contiguous
        assert entry.flags.aligned
    assert [entry.tolist() for entry in results["OUTPUT0"][1:]] == before[1:]


def test_results_of_two_runs_are_apart(connect: Any) -> None:
    """A later run does not touch the arrays of an earlier one (docs/v1-behaviour.md §4.1)."""
    context = connect("simple")
    first = context.run(add_sub(), BOTH)
    context.run(add_sub(1, RAMP * 5, RAMP), BOTH)
    assert first["OUTPUT0"][0].tolist() == SUM


def test_lists_per_batch_entry(connect: Any) -> None:
    """A list per output, arrays without the batch dimension (docs/v1-behaviour.md §4.1, §F.4)."""
    results = connect("simple").run(add_sub(3), BOTH, 3)
    assert list(results) == list(BOTH)
    for entries in results.values():
        assert type(entries) is list
        assert [entry.shape for entry in entries] == [(16,)] * 3
    assert np.array(results["OUTPUT0"]).shape == (3, 16)


@pytest.mark.smoke
def test_order_of_results(connect: Any) -> None:
    """The order of ``outputs`` is the order of the results, not the model's."""
    # docs/v1-behaviour.md §3.8
    results = connect("simple").run(add_sub(), {"OUTPUT1": (1,), "OUTPUT0": (1,)})
    assert list(results) == ["OUTPUT1", "OUTPUT0"]
    assert results["OUTPUT0"][0].tolist() == SUM


def test_one_output_of_two(connect: Any) -> None:
    """Only what was asked for is returned (docs/v1-behaviour.md §4.1)."""
    results = connect("simple").run(add_sub(), {"OUTPUT1": (1,)})
    assert {name: entries[0].tolist() for name, entries in results.items()} == {"OUTPUT1": [0] * 16}


@pytest.mark.parametrize("outputs", [{"OUTPUT1": (1,)}, BOTH, {"OUTPUT1": (2, 1)}])
def test_omitted_output(connect: Any, outputs: Any) -> None:
    """The server omitted a requested output: a client error that names it."""
    # docs/v1-behaviour.md §4.1
    with client_error("unable to find result for output 'OUTPUT1'"):
        connect("omits_output").run(fp32(1), outputs)


def test_omitted_output_on_a_stream(stream: Any) -> None:
    """run() on a stream has an id on the wire, too, and yet is no asynchronous request."""
    # docs/v1-behaviour.md §A
    with client_error("unable to find result for output 'OUTPUT1'"):
        stream("omits_output").run(fp32(1), BOTH)


def test_output_omitted_of_an_asynchronous_request(connect: Any) -> None:
    """v1 forgot an asynchronous request with its last result: the error names the request."""
    # docs/v1-behaviour.md §A
    context = connect("omits_output")
    for outputs, missed in (({"OUTPUT1": (1,)}, "result for output 'OUTPUT1'"), (BOTH, None)):
        request_id = context.async_run(fp32(1), outputs)
        missed = missed or f"results for request '{request_id}'"
        with client_error(f"unable to find {missed}"):
            context.get_async_run_results(request_id, True)


@pytest.mark.parametrize("batch_size", [1, 2])
def test_wrong_number_of_rows(connect: Any, batch_size: int) -> None:
    """Model output shape ≠ config: v2 does not look, v1's server error all the same."""
    # docs/v1-behaviour.md §3.4
    message = (
        f"output 'OUTPUT0' for model 'wrong_rows' has shape [{batch_size + 1},1] but model "
        f"configuration specifies shape [{batch_size},1]"
    )
    with server_error(message):
        connect("wrong_rows").run(fp32(*[1] * batch_size), ONE, batch_size)


@not_on("2.33", "has no BF16 in its Python backend")
def test_type_unknown_to_v1(connect: Any) -> None:
    """Unknown datatype: BF16 is newer than v1; the error says what can be had."""
    # docs/v1-behaviour.md §4.1
    context = connect("identity_bf16")
    with pytest.raises(InferenceServerException, match="unknown result datatype 14: expected"):
        context.run({"INPUT0": [np.zeros(2, np.uint16)]}, ONE)
    assert context.run({"INPUT0": [np.zeros(2, np.uint16)]}, {}) == {}


def test_ensemble(connect: Any) -> None:
    """An ensemble is a model like any other (docs/v1-behaviour.md §4.1)."""
    context = connect("ensemble_simple")
    results = context.run(add_sub(2), ONE, 2)
    assert [entry.tolist() for entry in results["OUTPUT0"]] == [SUM, SUM]
    assert context.get_last_request_model_name() == "ensemble_simple"


def test_large_result(connect: Any) -> None:
    """A batch of several megabytes comes back whole, entry by entry (docs/v1-behaviour.md §4.1)."""
    arrays = [np.random.default_rng(seed).random((300, 700), np.float32) for seed in range(4)]
    results = connect("identity_2d").run({"INPUT0": arrays}, ONE, 4)
    assert len(results["OUTPUT0"]) == 4
    for sent, got in zip(arrays, results["OUTPUT0"]):
        assert np.array_equal(sent, got)

"""The ``outputs`` argument (docs/v1-behaviour.md §3.8)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext
from tests.server.infer_cases import BOTH, CLASS, RAW, SUM, add_sub, client_error, server_error

pytest_plugins = ["tests.server.infer_fixtures"]

BEST = [(15, 30.0, ""), (14, 28.0, ""), (13, 26.0, "")]


class Pair(tuple):  # type: ignore[type-arg]
    """A subclass of tuple."""


def test_result_format() -> None:
    """ResultFormat: a plain class; RAW is the tuple (1,), CLASS the int 2."""
    # docs/v1-behaviour.md §3.8
    assert (RAW, CLASS) == ((1,), 2)
    assert type(CLASS) is int
    assert type(InferContext.ResultFormat) is type


@pytest.mark.parametrize("value", [RAW, (1,), (True,), (1.0,), Pair((1,))])
def test_raw(connect: Any, value: Any) -> None:
    """RAW: whatever equals the tuple (1,) (docs/v1-behaviour.md §3.8)."""
    results = connect("simple").run(add_sub(), {"OUTPUT0": value})
    assert results["OUTPUT0"][0].tolist() == SUM


@pytest.mark.parametrize(
    "value",
    [
        *((CLASS, 3), [CLASS, 3], (2, 3), (2.0, 3), (np.int64(2), 3), Pair((2, 3))),
        *((CLASS, 3, "ignored"), [CLASS, 3, None, 7]),
        *((CLASS, np.int64(3)), (CLASS, np.uint8(3)), (CLASS, np.array(3)), (CLASS, 2**32 + 3)),
    ],
    ids=repr,
)
def test_classes(connect: Any, value: Any) -> None:
    """(CLASS, k): tuple or list, further elements ignored, k any integer, 32 bits."""
    # docs/v1-behaviour.md §3.8
    assert connect("simple").run(add_sub(), {"OUTPUT0": value}) == {"OUTPUT0": [BEST]}


@pytest.mark.parametrize("count", [-1, 16, 17, 1000, 2**31, 2**32 - 1, True])
def test_count_beyond_the_elements(connect: Any, count: int) -> None:
    """k: -1 and whatever exceeds the element count is every class."""
    # docs/v1-behaviour.md §3.8, §4.2
    (classes,) = connect("simple").run(add_sub(), {"OUTPUT0": (CLASS, count)})["OUTPUT0"]
    assert len(classes) == (1 if count is True else 16)
    assert classes[:1] == BEST[:1]


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("count", [0, False, np.int32(0), 2**32])
def test_no_classes(connect: Any, batch_size: int, count: Any) -> None:
    """(CLASS, 0): the model runs, then reading the result is a client error."""
    # docs/v1-behaviour.md §3.8
    context = connect("simple")
    with client_error(
        f"unexpected batch entry 0 requested for output 'OUTPUT0', batch size is {batch_size}"
    ):
        context.run(add_sub(batch_size), {"OUTPUT0": (CLASS, count)}, batch_size)
    assert context.get_last_request_id() > 0
    assert context.get_stat()["completed_request_count"] == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((CLASS, "2"), "an integer is required (got type str)"),
        ((CLASS, None), "an integer is required (got type NoneType)"),
        ((CLASS, [2]), "an integer is required (got type list)"),
        ((CLASS, 1.0), "int expected instead of float"),
        ((CLASS, np.float64(1)), "int expected instead of float"),
        *((value, f"object of type '{type(value).__name__}' has no len()") for value in (1, 2.0)),
        (CLASS, "object of type 'int' has no len()"),
        (True, "object of type 'bool' has no len()"),
        (None, "object of type 'NoneType' has no len()"),
    ],
    ids=repr,
)
def test_type_errors(connect: Any, value: Any, text: str) -> None:
    """k of a wrong type, and values without a length: TypeError, before the name."""
    # docs/v1-behaviour.md §3.8
    for name in ("OUTPUT0", "NOPE"):
        with pytest.raises(TypeError) as caught:
            connect("simple").run(add_sub(), {name: value})
        assert str(caught.value) == text


@pytest.mark.parametrize("value", [(2,), [2], (), []], ids=repr)
def test_index_errors(connect: Any, value: Any) -> None:
    """``(2,)``: IndexError, as for other sequences that are too short."""
    # docs/v1-behaviour.md §3.8
    with pytest.raises(IndexError, match=f"{type(value).__name__} index out of range"):
        connect("simple").run(add_sub(), {"OUTPUT0": value})


@pytest.mark.parametrize(
    "value",
    [
        *([1], (RAW,), [RAW], (RAW, 1, 2), (3, 1), (0, 1), "RAW", "", "ab", b"\x02\x03", {}),
        *((1, 1), ("2", 1), (None, 1), {CLASS: 3, 4: 5}, {2, 3}, range(2, 4), [[1], 2]),
    ],
    ids=repr,
)
def test_unrecognized(connect: Any, value: Any) -> None:
    """Anything else with a length: ``unrecognized output format`` (docs/v1-behaviour.md §3.8)."""
    with client_error("unrecognized output format"):
        connect("simple").run(add_sub(), {"OUTPUT0": value})


@pytest.mark.parametrize("value", [(RAW, 1), [RAW, None], (RAW, RAW), (RAW, "name"), (RAW, b"")])
def test_raw_with_something_else(connect: Any, value: Any) -> None:
    """(RAW, non-handle): shared memory is what v1 understood (docs/v1-behaviour.md §3.8)."""
    with client_error(
        "shared memory requires tuple of size 2 - output_format(RAW), "
        "shared_memory_handle(c_void_p)"
    ):
        connect("simple").run(add_sub(), {"OUTPUT0": value})


@pytest.mark.parametrize("key", ["NOPE", b"NOPE", "output0", "INPUT0", "", "OUTPUT0 "])
def test_unknown_output(connect: Any, key: Any) -> None:
    """Unknown output name: a client error, exact to the letter (docs/v1-behaviour.md §3.8)."""
    name = key.decode() if isinstance(key, bytes) else key
    for value in (RAW, (CLASS, 1)):
        with client_error(f"unknown output '{name}' for 'simple'"):
            connect("simple").run(add_sub(), {"OUTPUT0": RAW, key: value})


def test_no_outputs(connect: Any) -> None:
    """``{}``: the model runs, the result is ``{}``, no model name is told."""
    # docs/v1-behaviour.md §3.8
    context = connect("simple")
    assert context.run(add_sub(), {}) == {}
    assert context.get_stat()["completed_request_count"] == 1
    assert context.get_last_request_id() > 0
    assert context.get_last_request_model_name() is None


def test_no_outputs_still_runs_the_model(connect: Any) -> None:
    """``{}``: what the model says against the input is told (docs/v1-behaviour.md §3.8)."""
    with server_error("the model refused value 4"):
        connect("failing").run({"INPUT0": [np.array([4], np.float32)]}, {})


def test_formats_mixed(connect: Any) -> None:
    """Each output has its own format (docs/v1-behaviour.md §3.8)."""
    results = connect("simple").run(add_sub(), {"OUTPUT1": RAW, "OUTPUT0": (CLASS, 3)})
    assert results["OUTPUT0"] == [BEST]
    assert results["OUTPUT1"][0].tolist() == [0] * 16


def test_arguments_are_left_alone(connect: Any) -> None:
    """Neither dict is changed, so scripts use the same ones again (docs/v1-behaviour.md §3.8)."""
    inputs, outputs = add_sub(), dict(BOTH)
    context = connect("simple")
    for _ in range(2):
        assert context.run(inputs, outputs)["OUTPUT0"][0].tolist() == SUM
    assert outputs == BOTH
    assert set(inputs) == {"INPUT0", "INPUT1"}


def test_one_output_under_two_keys(connect: Any) -> None:
    """The last format holds for both keys, and the first key takes the result."""
    # docs/v1-behaviour.md §3.8
    with client_error("unable to find result for output 'OUTPUT0'"):
        connect("simple").run(add_sub(), {"OUTPUT0": RAW, b"OUTPUT0": RAW})
    with client_error("raw shape not available for non-RAW output 'OUTPUT0'"):
        connect("simple").run(add_sub(), {"OUTPUT0": RAW, b"OUTPUT0": (CLASS, 1)})

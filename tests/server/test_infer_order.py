"""The order in which run() checks its arguments (docs/v1-behaviour.md §3.2), and the texts of each
check.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any, Callable

import numpy as np
import pytest

from tensorrtserver.api import InferenceServerException
from tests.server.infer_cases import BOTH, RAMP, SUM, add_sub, client_error

pytest_plugins = ["tests.server.infer_fixtures"]

#: Faults in the order in which they are found, each with the error it causes.
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
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
NAMES = list(FAULTS)


def styles() -> dict[str, Callable[..., Any]]:
    """The ways to send a request; all check alike (docs/v1-behaviour.md §5)."""
    return {
        "run": lambda context, **given: context.run(**given),
        "callback": lambda context, **given: context.async_run(callback=print, **given),
        "id": lambda context, **given: context.async_run(**given),
    }


def fault(name: str) -> Any:
    """The block raises the error of this fault."""
    expected = (InferenceServerException, ctypes.ArgumentError)
    return pytest.raises(expected, match=re.escape(FAULTS[name][1]))


@pytest.mark.parametrize("style", styles())
@pytest.mark.parametrize("first", range(len(NAMES)))
@pytest.mark.smoke
def test_first_fault_wins(connect: Any, first: int, style: str) -> None:
    """Order of checks: of two faults the earlier one in the list is reported."""
    # docs/v1-behaviour.md §3.2
    context = connect("simple")
    for second in NAMES[first:]:
        given = {"inputs": add_sub(), "outputs": BOTH}
        given.update(FAULTS[second][0])
        given.update(FAULTS[NAMES[first]][0])
        with fault(NAMES[first]):
            styles()[style](context, **given)


@pytest.mark.parametrize("name", ["flags", "batch_size", "corr_id", "priority", "timeout_us"])
@pytest.mark.parametrize("value", [None, 1.0, "1", b"1", [1], np.float64(1)], ids=repr)
def test_wrong_scalars(connect: Any, name: str, value: Any) -> None:
    """Wrong type: ctypes' ArgumentError; nothing is sent or counted."""
    # docs/v1-behaviour.md §3.5, §3.9
    context = connect("simple")
    with pytest.raises(ctypes.ArgumentError, match="wrong type"):
        context.run(add_sub(), BOTH, **{name: value})
    assert context.get_stat()["completed_request_count"] == 0


@pytest.mark.parametrize("value", [1, True, np.int8(1), np.uint64(1), np.array(1)], ids=repr)
def test_integer_like_scalars(connect: Any, value: Any) -> None:
    """Bools and NumPy integers are integers (docs/v1-behaviour.md §3.5, §3.9)."""
    results = connect("simple").run(add_sub(), BOTH, value, 0, value, value, value)
    assert len(results["OUTPUT0"]) == 1


def test_outputs_are_checked_in_their_order(connect: Any) -> None:
    """Outputs are checked one after the other, format before name (docs/v1-behaviour.md §3.2)."""
    with client_error("unknown output 'A' for 'simple'"):
        connect("simple").run(add_sub(), {"OUTPUT0": (1,), "A": (1,), "B": (9, 9)})
    with client_error("unrecognized output format"):
        connect("simple").run(add_sub(), {"B": (9, 9), "A": (1,)})


def test_inputs_are_checked_in_their_order(connect: Any) -> None:
    """Inputs are set one after the other, in iteration order (docs/v1-behaviour.md §3.2)."""
    small = RAMP[:4].view("i2")
    with client_error("unknown input 'A' for 'simple'"):
        connect("simple").run({"A": [RAMP], "INPUT0": [small]}, BOTH)
    with client_error("invalid size 16 bytes for input 'INPUT0', expects 32 bytes"):
        connect("simple").run({"INPUT0": [small], "A": [RAMP]}, BOTH)


def test_missing_input_comes_last(connect: Any) -> None:
    """What is given is checked before what is missing (docs/v1-behaviour.md §3.2, §3.3)."""
    with client_error("unknown input 'A' for 'simple'"):
        connect("simple").run({"INPUT0": [RAMP], "A": [RAMP]}, BOTH)


def test_context_survives_refusals(connect: Any) -> None:
    """A refused call leaves the context usable (docs/v1-behaviour.md §3.2)."""
    context = connect("simple")
    for name, (given, _) in FAULTS.items():
        with fault(name):
            context.run(**{"inputs": add_sub(), "outputs": BOTH, **given})
        assert context.run(add_sub(), BOTH)["OUTPUT0"][0].tolist() == SUM

"""Impossible declarations of models raise an error at once."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim import testing

GOOD: dict[str, Any] = {"inputs": [("I", "FP32", [1])], "outputs": [("O", "FP32", [1])]}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"inputs": [("I", "FP33", [1])]}, "the datatype of 'I' is 'FP33'; expected one of: BOOL"),
        ({"inputs": [("I", "complex64", [1])]}, "the datatype of 'I' is 'complex64'"),
        ({"inputs": [("I", "FP32", [])]}, "the dims of 'I' are .*; expected a list of sizes"),
        ({"inputs": [("I", "FP32", [0])]}, "the dims of 'I' are"),
        ({"inputs": [("I", "FP32", 4)]}, "the dims of 'I' are 4"),
    ],
)
def test_wrong_declaration(wrong: dict[str, Any], says: str) -> None:
    """An impossible declaration raises ValueError, with what was expected."""
    with pytest.raises(ValueError, match=says):
        testing.model(**{**GOOD, **wrong})(dict)


def test_what_is_no_tensor() -> None:
    """A tensor that is no tuple of name, data type and dims raises TypeError."""
    with pytest.raises(TypeError, match=r"'I' is no tensor; expected \(name, data type, dims\)"):
        testing.model(inputs=["I"], outputs=[])


def test_a_function_without_declaration() -> None:
    """A function without a declaration raises TypeError, which says how to declare it."""
    model: Any = dict
    with pytest.raises(TypeError, match=r"@testing.model\(inputs=…, outputs=…\)"), testing.server(
        m=model
    ):
        pass


def test_an_unknown_status() -> None:
    """ServerError with an unknown status code raises ValueError."""
    with pytest.raises(ValueError, match="code is 'BUSY'; expected one of: INVALID_ARGUMENT"):
        testing.ServerError("no", "BUSY")

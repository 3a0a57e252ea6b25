"""Texts from callers (docs/v1-behaviour.md §3.9, §7.1)."""

from __future__ import annotations

from ctypes import ArgumentError
from typing import Any

import pytest

from tritonclient_shim.core import arguments
from tritonclient_shim.core.errors import InferenceServerException


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (5, "<class 'AttributeError'>: 'int' object has no attribute 'encode'"),
        ("\ud800", "<class 'UnicodeEncodeError'>: 'utf-8' codec can't encode character"),
    ],
)
def test_what_is_no_text(value: Any, reason: str) -> None:
    """Invalid names of inputs, regions and models raise ctypes' error, with their position."""
    for convert in (
        lambda: arguments.text(value, "an input name", 3),
        lambda: arguments.c_string(value, 3),
        lambda: arguments.model_name(value, 3),
    ):
        with pytest.raises(ArgumentError) as caught:
            convert()
        assert str(caught.value).startswith(f"argument 3: {reason}")


def test_model_names_are_taken_whole() -> None:
    """A model's name in control and status calls keeps its NULs, because it was no C string."""
    assert arguments.model_name("a\0b", 2) == arguments.model_name(b"a\0b", 2) == "a\0b"
    assert arguments.model_name(b"\xff", 2) == "\ufffd"
    with pytest.raises(InferenceServerException, match="model_name must be text, got None"):
        arguments.model_name(None, 2)
    with pytest.raises(ArgumentError, match="argument 6: <class 'AttributeError'>: 'int' object"):
        arguments.model_name(5, 6)

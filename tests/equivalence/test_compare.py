"""What counts as the same outcome of two runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.equivalence import compare


def outcome(words: str) -> Any:
    """A step that raised TypeError."""
    return {"raised": "TypeError", "with": words}


@pytest.mark.parametrize(
    "words",
    [
        "an integer is required (got type float)",
        "int expected instead of float instance",
        "'float' object cannot be interpreted as an integer",
        "'numpy.float64' object cannot be interpreted as an integer",
        "an integer is required (got type numpy.float64)",
        "int expected instead of numpy.float64 instance",
    ],
)
def test_not_an_integer_has_many_words(words: str) -> None:
    """Each version of Python says it in its own words; a type's name may have its module."""
    assert compare.worded(outcome(words)) == outcome("not an integer")


def test_other_words_count() -> None:
    """What the client itself says is compared as it is."""
    for words in ("input is not an integer", "'numpy.float64 object cannot be interpreted"):
        assert compare.worded(outcome(words)) == outcome(words)
    value_error = {
        "raised": "ValueError",
        "with": "'a.b' object cannot be interpreted as an integer",
    }
    assert compare.worded(value_error) == value_error

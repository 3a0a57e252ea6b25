"""Classification in pure functions: order, values, labels, texts (docs/v1-behaviour.md §4.2,
docs/v2-mapping.md §1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonclient_shim.core.errors import UnreadableReply
from tritonclient_shim.translate import classes

# A C++ program computed the tables: std::sort of GNU's library over the indices of the values,
# compared by value[a] > value[b].

#: (length, different values, seed of :func:`values`) -> order
TIES = {
    (16, 3, 1): ("0 5 11 14 15 1 3 4 10 2 6 7 8 9 12 13 "),
    (17, 2, 2): ("1 16 14 13 11 10 9 7 5 4 2 8 6 12 3 15 0 "),
    (20, 3, 3): ("0 17 3 16 8 10 19 15 14 11 9 5 7 12 13 6 4 2 18 1 "),
    (33, 2, 4): (
        "12 25 26 22 27 20 19 17 16 15 14 13 11 10 9 29 7 31 4 3 2 0 32 28 30 24 23 21 18 8 6 5 1 "
    ),
    (40, 5, 5): (
        "29 23 5 6 20 11 13 39 32 22 21 19 18 4 3 1 24 7 8 37 10 16 12 36 27 28 2 34 33 14 38 "
        "0 35 31 30 26 25 9 17 15 "
    ),
    (64, 3, 6): (
        "14 0 33 35 25 24 23 21 37 39 41 44 16 15 48 52 9 7 58 59 2 63 32 46 47 55 36 56 57 "
        "12 13 4 22 5 6 19 8 10 49 1 50 51 53 54 3 60 61 62 29 11 45 17 43 42 18 40 38 20 26 "
        "34 27 28 31 30 "
    ),
}

#: Seed and length -> order of values, one in six of them NaN.
NANS = {
    10: ("7 4 1 3 5 6 0 2 8 9 "),
    17: ("1 16 6 5 3 4 2 7 10 12 11 14 8 9 13 15 0 "),
    24: ("7 8 23 2 4 20 15 12 21 18 16 11 0 13 14 10 9 17 6 19 5 3 22 1 "),
    50: (
        "13 27 28 29 31 19 37 12 11 10 9 46 47 4 2 3 42 41 39 17 33 49 34 35 25 45 43 1 38 48 "
        "6 15 18 7 44 8 40 16 26 36 20 21 14 22 32 23 24 30 5 0 "
    ),
}

#: Values made against the sort, so that it gives up on quicksort and sorts a heap.
ADVERSE = (
    "-28 0 -23 -1 -26 -2 -22 -3 -30 -4 -21 -5 -25 -6 -20 -7 -27 -8 -10 -9 -29 -28 -27 -26 "
    "-25 -24 -23 -22 -21 -24 0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -20 -18 -19 -17 -18 -16 -17 -15 "
    "-16 -14 -15 -13 -14 -12 -13 -11 -12 -10 -11 -19 "
)
ADVERSE_ORDER = (
    "1 30 3 31 5 32 7 33 9 34 11 35 13 36 15 37 17 38 19 39 18 57 55 58 53 56 54 51 52 49 "
    "47 50 45 48 43 46 41 44 59 42 14 40 10 28 27 6 2 26 29 25 12 24 23 4 16 22 21 0 20 8 "
)


def draws(seed: int) -> Any:
    """Yield numbers of the C standard's example generator."""
    while True:
        seed = (1103515245 * seed + 12345) % 2**31
        yield seed >> 16


def best(rows: Any, count: int) -> list[list[int]]:
    """Return the best classes of each row of scores."""
    best_of_rows: list[list[int]] = classes.best(rows, count).tolist()
    return best_of_rows


def values(length: int, different: int, seed: int) -> list[int]:
    return [draw % different for draw, _ in zip(draws(seed), range(length))]


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split()]


@pytest.mark.parametrize("case", TIES)
def test_ties(case: tuple[int, int, int]) -> None:
    """Equal values have the order of the server's sort, for every number of classes."""
    # docs/v1-behaviour.md §4.2
    scores = values(*case)
    expected = numbers(TIES[case])
    assert classes.descending(scores) == expected
    for dtype in ("f4", "f8", "i4", "u1", "i8"):
        for count in (1, 3, len(scores) - 1, len(scores)):
            assert best(np.array([scores], dtype), count) == [expected[:count]]


@pytest.mark.parametrize("length", NANS)
def test_nans(length: int) -> None:
    """NaN compares as nothing: the order is the sort's own, for every number of classes."""
    # docs/v1-behaviour.md §4.2
    drawn = values(length, 6, length)
    scores = [math.nan if draw == 5 else float(draw) for draw in drawn]
    expected = numbers(NANS[length])
    assert classes.descending(scores) == expected
    for count in (1, 2, 5, length):
        assert best(np.array([scores], "f4"), count) == [expected[:count]]


def test_adverse() -> None:
    """Values on which quicksort degenerates have the order of the sort's heap."""
    # docs/v1-behaviour.md §4.2
    scores, order = numbers(ADVERSE), numbers(ADVERSE_ORDER)
    assert classes.descending(scores) == order
    for count in range(len(order)):
        assert classes.descending(scores, count) == order[:count]


@given(
    st.lists(st.sampled_from([math.nan, 0.0, 1.0, 2.0, -1.0, math.inf]), max_size=400),
    st.integers(0, 60),
)
def test_the_first_places_alone(scores: list[float], count: int) -> None:
    """A sort of the first places returns the beginning of the complete sort."""
    # docs/v1-behaviour.md §4.2
    assert classes.descending(scores, count) == classes.descending(scores)[:count]


DTYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]


def lowest_first(dtype: str) -> list[Any]:
    """Return values that mislead a search for the largest, and some ordinary values."""
    if np.dtype(dtype).kind == "f":
        least = np.finfo(dtype).min
        return [-math.inf, math.nan, math.inf, least, -least, 0.0, -0.0, *range(-4, 5)]
    limits = np.iinfo(dtype)
    return [int(limits.min), int(limits.min) + 1, int(limits.max), *range(7)]


@given(st.data(), st.sampled_from(DTYPES))
def test_best_of_extreme_scores(data: Any, dtype: str) -> None:
    """The quick selection is right with -inf, NaN and the lowest integer among the best."""
    # docs/v1-behaviour.md §4.2
    length = data.draw(st.sampled_from([1, 2, 5, 16, 17, 40]))
    few = data.draw(st.lists(st.sampled_from(lowest_first(dtype)), min_size=1, max_size=4))
    ordinary = np.random.default_rng(data.draw(st.integers(0, 9))).permutation(length) + 1
    scores = ordinary.astype(dtype)
    for place in data.draw(st.lists(st.integers(0, length - 1), max_size=3)):
        scores[place] = few[place % len(few)]
    rows = np.array([scores, scores[::-1], ordinary.astype(dtype)])
    expected = [classes.descending(row) for row in rows.tolist()]
    for count in {1, 2, 12, 16, max(1, length - 1), length, length + 1}:
        assert best(rows, count) == [order[:count] for order in expected]


@pytest.mark.smoke
def test_values_are_float32() -> None:
    """A value is float32, widened. Beyond its range it is infinite, and -0.0 is 0.0."""
    # docs/v1-behaviour.md §4.2
    rows = np.array([[0.1, 1e300, -1e300, 1e-320, -0.0]])
    (result,) = classes.from_scores(rows, 9, [])
    assert [tuple(item) for item in result] == [
        *((1, math.inf, ""), (0, float(np.float32(0.1)), "")),
        *((3, 0.0, ""), (4, 0.0, ""), (2, -math.inf, "")),
    ]
    assert {math.copysign(1, value) for _, value, _ in result[2:4]} == {1.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"1.500000:3", (3, 1.5, "")),
        (b"1.500000:3:", (3, 1.5, "")),
        (b"0.100000:0:a:b c:", (0, float(np.float32(0.1)), "a:b c:")),
        (b"-7:12::x", (12, -7.0, ":x")),
        (b"16777217:1:\xc3\xa9", (1, 16777216.0, "é")),
        (b"1:1:\xff", (1, 1.0, "\ufffd")),
        (b"-0.000000:2:z", (2, 0.0, "z")),
        (b"inf:0", (0, math.inf, "")),
        (b"-inf:0", (0, -math.inf, "")),
        (b"%d:0" % 10**300, (0, math.inf, "")),
    ],
)
def test_texts_of_a_server(text: bytes, expected: tuple[int, float, str]) -> None:
    """A class string is ``value:index[:label]``, with colons in labels (docs/v2-mapping.md §1)."""
    result = tuple(classes.from_text(text))
    assert result == expected
    assert str(result[1]) == str(expected[1])


@pytest.mark.parametrize(
    "text", [b"", b"no class", b"1.0:", b"1.0:x:l", b"x:1:l", b"1:-1", b"1:4294967296", b"1:\xb2"]
)
def test_texts_that_are_no_classes(text: bytes) -> None:
    """An invalid class string is an unreadable reply, not an error of Python's."""
    with pytest.raises(UnreadableReply, match="its classification has .* as a class; expected"):
        classes.from_texts(len(text).to_bytes(4, "little") + text, 1)


def test_classes_that_cannot_be_split() -> None:
    """A number of classes that the batch does not divide is an unreadable reply."""
    data = b"".join(len(text).to_bytes(4, "little") + text for text in (b"2:1", b"1:0", b"9:3"))
    with pytest.raises(UnreadableReply, match="3 classes; expected as many for each of 2 batch"):
        classes.from_texts(data, 2)


def test_labels_of_a_batch() -> None:
    """Labels by index are those of a batch's first entry, '' for a class that it lacks."""
    # docs/v2-mapping.md §1
    texts = (b"9:3:d", b"8:0:a", b"2:1:b", b"1:0:a")
    data = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    assert classes.labels_by_index(data, 2, 4) == ["a", "", "", "d"]
    assert classes.labels_by_index(data, 2, 1) == ["a"]
    assert classes.labels_by_index(b"", 2, 0) == []

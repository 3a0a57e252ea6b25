"""Tests of the table of known differences, and of its page."""

from __future__ import annotations

from tests.equivalence import known, sides

ROWS = known.load()


def test_page_is_current() -> None:
    """docs/differences.md equals the output of scripts/differences."""
    assert known.PAGE.read_text("utf-8") == known.page(ROWS), "run scripts/differences"


def test_rows_name_scenarios_that_exist() -> None:
    """Every row names existing scenarios, and has a unique id."""
    existing = set(sides.scenarios(*sides.files()))
    named = {scenario for row in ROWS for scenario in row.scenarios}
    assert named <= existing
    assert ROWS
    assert all(row.scenarios for row in ROWS)
    assert len({row.id for row in ROWS}) == len(ROWS)


def test_rows_that_the_code_mentions_exist() -> None:
    """Each comment ``known difference ``x```` in the code names a row."""
    root = known.HERE.parents[1]
    text = "".join(
        path.read_text("utf-8")
        for package in ("tensorrtserver", "tritonclient_shim")
        for path in (root / package).rglob("*.py")
    )
    mentioned = {part.split("``")[1] for part in text.split("known difference")[1:]}
    assert mentioned <= {row.id for row in ROWS}
    assert mentioned

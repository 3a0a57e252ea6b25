"""The report for people, with and without rich."""

from __future__ import annotations

import sys

import pytest

from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.usage import markdown, text
from tritonclient_shim.usage.rows import UsageRow, summary

ROWS = [
    UsageRow(ENTRIES["TS051"], "b.py", 7, 2, rewritable=False),
    UsageRow(ENTRIES["TS050"], "a.py", 3, 1),
    UsageRow(ENTRIES["TS051"], "a.py", 4, 1000, rewritable=False),
]


def test_rich_makes_a_table_of_the_terminals_width() -> None:
    """Where rich is installed every cell is in a table that is no wider than the terminal."""
    shown = text.render_for_terminal(ROWS, 100)
    lines = shown.splitlines()
    assert any(line.startswith("┏") for line in lines)
    assert max(map(len, lines[: lines.index("")])) <= 100
    for part in ("b.py:7  2 times", "a.py:4  1000 times", "1002", "automatic", "by hand"):
        assert part in shown
    assert [shown.count(f"│ {id} ") for id in ("TS050", "TS051")] == [1, 1]


def test_a_terminal_that_is_too_narrow_for_the_places_gets_no_table() -> None:
    """No table breaks a path: where paths need more than a third of the width, plain text."""
    row = UsageRow(ENTRIES["TS051"], "a_folder_with_a_name/and_a_script.py", 7, 2)
    place = "a_folder_with_a_name/and_a_script.py:7  2 times"
    assert text.render_for_terminal([row], 100) == text.render([row])
    assert f"│ {place} │" in text.render_for_terminal([row], 160)


def test_without_rich_it_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rich the terminal gets the plain text."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert text.render_for_terminal(ROWS, 100) == text.render(ROWS)


def test_plain_text_is_grouped_by_id() -> None:
    """Each symbol once, in the order of the ids, with all its places."""
    lines = text.render(ROWS).splitlines()
    assert [line[:5] for line in lines if line.startswith("TS")] == ["TS050", "TS051"]
    start = lines.index("TS051  tensorrtserver.api.InferContext.run  (1002 calls at 2 places)")
    assert lines[start + 3 : start + 5] == ["       b.py:7  2 times", "       a.py:4  1000 times"]


def test_totals_in_markdown() -> None:
    """A line per id: the old call, how often it ran, at how many places."""
    row = "| TS051 | tensorrtserver.api.InferContext.run | 1002 | 2 | `tritonclient-shim guide "
    assert row in markdown.render(ROWS)
    assert "places" not in markdown.render([])


def test_totals_of_what_was_not_run() -> None:
    """``scan`` has places and no calls."""
    lines = text.render([UsageRow(ENTRIES["TS051"], "a.py", 4)]).splitlines()
    assert "TS051  tensorrtserver.api.InferContext.run  (1 place)" in lines
    assert "       a.py:4" in lines


def test_summary_counts_places_and_symbols() -> None:
    """Places, symbols, and how many of the places could be rewritten by a program."""
    assert summary(ROWS) == (
        "3 places use 2 legacy symbols and usage patterns; "
        "1 could be rewritten automatically, 2 by hand."
    )
    assert summary([]) == "No use of the legacy API."

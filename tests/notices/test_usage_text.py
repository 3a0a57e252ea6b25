"""The usage report as text."""

from __future__ import annotations

from dataclasses import replace

from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.usage import report
from tritonclient_shim.usage.rows import UsageRow, summary

ROWS = [
    UsageRow(ENTRIES["TS051"], "b.py", 7, 2, rewritable=False),
    UsageRow(ENTRIES["TS050"], "a.py", 3, 1),
    UsageRow(ENTRIES["TS051"], "a.py", 4, 1000, rewritable=False),
]


def test_plain_text_is_grouped_by_id() -> None:
    """The report has each symbol once, in the order of ids, with all its places."""
    lines = report.text(ROWS).splitlines()
    assert [line[:5] for line in lines if line.startswith("TS")] == ["TS050", "TS051"]
    start = lines.index("TS051  tensorrtserver.api.InferContext.run  (1002 calls at 2 places)")
    assert lines[start + 3 : start + 5] == ["       b.py:7  2 times", "       a.py:4  1000 times"]


def test_totals_of_what_was_not_run() -> None:
    """A report of ``scan`` has places and no calls."""
    lines = report.text([UsageRow(ENTRIES["TS051"], "a.py", 4)]).splitlines()
    assert "TS051  tensorrtserver.api.InferContext.run  (1 place)" in lines
    assert "       a.py:4" in lines


def test_summary_counts_places_and_symbols() -> None:
    """The totals have places, symbols and, if known, how many places are rewritten."""
    assert summary(ROWS) == "3 places use 2 legacy symbols and usage patterns."
    known = [replace(row, rewritable=row.line == 3) for row in ROWS]
    assert summary(known) == (
        "3 places use 2 legacy symbols and usage patterns; "
        "`tritonclient-shim migrate --unsafe` rewrites 1 of them."
    )
    assert summary([]) == "No use of the legacy API."

"""Rows → text for people: a paragraph per symbol, or rich's table where rich is installed."""

from __future__ import annotations

import io

from tritonclient_shim.usage.rows import TITLE, Total, UsageRow, grouped, summary, totals

HEADINGS = ("id", "legacy symbol", "where", "calls", "instead", "migration")
TOTALS = ("id", "legacy symbol", "calls", "places")


def render(found: list[UsageRow]) -> str:
    """Plain text: each symbol once, with its totals, its successor and its places."""
    groups = [line for group in grouped(found) for line in _paragraph(group)]
    return "\n".join([TITLE, "", *groups, summary(found), *next_step(found), ""])


def render_for_terminal(found: list[UsageRow], width: int) -> str:
    """A table by rich, ``width`` columns wide, with a line per symbol.

    Where rich is missing or the places need too much of the width, as :func:`render`.
    """
    longest = max((len(_where(row)) for row in found), default=0)
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return render(found)
    if longest > width // 3:
        return render(found)
    table = Table(title=TITLE, show_lines=True)
    for heading in HEADINGS:
        place = heading == "where"
        table.add_column(heading, overflow="fold", no_wrap=place, min_width=longest * place)
    for group, total in zip(grouped(found), totals(found)):
        id, symbol, calls, _ = total.cells
        places = "\n".join(map(_where, group))
        table.add_row(id, symbol, places, calls, total.entry.successor, group[0].how)
    stream = io.StringIO()
    Console(file=stream, width=width, markup=False, highlight=False).print(table)
    return "\n".join([stream.getvalue(), summary(found), *next_step(found), ""])


def cells(row: UsageRow) -> tuple[str, ...]:
    """The row's columns."""
    entry = row.entry
    count = "" if row.count is None else str(row.count)
    return (entry.id, entry.symbol, row.place, count, entry.successor, row.how)


def _paragraph(group: list[UsageRow]) -> list[str]:
    entry = group[0].entry
    (total,) = totals(group)
    return [
        f"{entry.id}  {entry.symbol}  ({_total(total)})",
        f"       instead: {entry.successor}",
        f"       {group[0].how}; {entry.guide}",
        *(f"       {_where(row)}" for row in group),
        "",
    ]


def totals_table(found: list[UsageRow]) -> list[str]:
    """The totals as aligned lines, one per id, and an empty line."""
    if not found:
        return []
    lines = [TOTALS, *(one.cells for one in totals(found))]
    width = max(len(line[1]) for line in lines)
    columns = [f"  {id:<5}  {name:<{width}}  {a:>7}  {b:>6}" for id, name, a, b in lines]
    return [*columns, ""]


def _total(total: Total) -> str:
    places = f"{total.places} place" + "s" * (total.places != 1)
    if total.calls is None:
        return places
    return f"{total.calls} call{'s' * (total.calls != 1)} at {places}"


def _where(row: UsageRow) -> str:
    return row.place if row.count is None else f"{row.place}  {_times(row.count)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def next_step(found: list[UsageRow]) -> list[str]:
    """The line that says what to do next."""
    if not found:
        return []
    return [
        f"Next: `{found[0].entry.guide}` shows the first of them before and after; "
        f"`tritonclient-shim explain {found[0].entry.id}` tells the same in short."
    ]

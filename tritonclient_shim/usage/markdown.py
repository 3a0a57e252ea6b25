"""Rows → a Markdown page."""

from __future__ import annotations

from tritonclient_shim.notice.entry import Entry
from tritonclient_shim.usage.rows import Row, summary, totals
from tritonclient_shim.usage.text import HEADINGS, TOTALS, cells


def render(found: list[Row], title: str = "Legacy API in use") -> str:
    """A heading, the summary, the totals, and a table of uses. Ids lead into the guide."""
    lines = [f"# {title}", "", summary(found), ""]
    if found:
        lines += [_line(TOTALS), _line(["---", "---", "--:", "--:"])]
        lines += [_line([_link(one.entry), *one.cells[1:]]) for one in totals(found)] + [""]
        lines += [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
        lines += [_line([_link(row.entry), *cells(row)[1:]]) for row in found]
    return "\n".join([*lines, ""])


def _link(entry: Entry) -> str:
    return f"[{entry.id}]({entry.guide})"


def _line(columns: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(column.replace("|", "\\|") for column in columns) + " |"

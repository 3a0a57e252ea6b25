"""Rows → a Markdown page."""

from __future__ import annotations

from tritonclient_shim.usage.rows import TITLE, UsageRow, summary, totals
from tritonclient_shim.usage.text import HEADINGS, TOTALS, cells

_GUIDE = "before and after"


def render(found: list[UsageRow]) -> str:
    """A heading, the summary, the totals with the guide's command for each, and all uses."""
    lines = [f"# {TITLE}", "", summary(found), ""]
    if found:
        lines += [_line([*TOTALS, _GUIDE]), _line(["---", "---", "--:", "--:", "---"])]
        lines += [_line([*one.cells, f"`{one.entry.guide}`"]) for one in totals(found)] + [""]
        lines += [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
        lines += [_line(list(cells(row))) for row in found]
    return "\n".join([*lines, ""])


def _line(columns: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(column.replace("|", "\\|") for column in columns) + " |"

"""Rows → a Markdown page."""

from __future__ import annotations

from tritonclient_shim.usage.rows import Row, summary
from tritonclient_shim.usage.text import HEADINGS, cells


def render(found: list[Row], title: str = "Legacy API in use") -> str:
    """A heading, the summary and a table whose ids lead into the guide."""
    lines = [f"# {title}", "", summary(found), ""]
    if found:
        lines += [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
        lines += [_line([f"[{row.entry.id}]({row.entry.guide})", *cells(row)[1:]]) for row in found]
    return "\n".join([*lines, ""])


def _line(columns: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(column.replace("|", "\\|") for column in columns) + " |"

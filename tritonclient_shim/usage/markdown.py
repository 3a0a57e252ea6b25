"""Rows → a Markdown page."""

from __future__ import annotations

import re

from tritonclient_shim.usage.rows import TITLE, UsageRow, summary, totals
from tritonclient_shim.usage.text import HEADINGS, TOTALS, cells

_GUIDE = "before and after"


def render(found: list[UsageRow]) -> str:
    """A heading, the summary, the totals with the guide's command for each, and all uses."""
    return page(found, summary(found))


def page(found: list[UsageRow], told: str, *, uses: bool = True) -> str:
    """A heading, a text, the totals with the guide's command for each, and the uses."""
    lines = [f"# {TITLE}", "", told, ""]
    if found:
        lines += [_line([*TOTALS, _GUIDE]), _line(["---", "---", "--:", "--:", "---"])]
        lines += [_line([*one.cells, f"`{one.entry.guide}`"]) for one in totals(found)]
    if found and uses:
        lines += ["", *_uses(found)]
    return "\n".join([*lines, ""])


def _uses(found: list[UsageRow]) -> list[str]:
    """The table of uses, with the source where it was read."""
    with_source = any(row.snippet for row in found)
    headings = [*HEADINGS, "source"] if with_source else [*HEADINGS]
    rows = [[*cells(row), _code(row.snippet)] if with_source else [*cells(row)] for row in found]
    return [_line(headings), _line(["---"] * len(headings)), *map(_line, rows)]


def _code(text: str) -> str:
    """Source → a code span, between more backticks than it has in a row itself."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text.strip()} {fence}" if "`" in text else f"`{text.strip()}`"


def _line(columns: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(column.replace("|", "\\|") for column in columns) + " |"

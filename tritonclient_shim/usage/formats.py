"""Rows of a report → text for people, JSON, and SARIF 2.1.0 for code-review tools."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from tritonclient_shim.registry.entry import RegistryEntry
from tritonclient_shim.usage.rows import TITLE, Total, UsageRow, grouped, summary, totals

_TOTALS = ("id", "legacy symbol", "calls", "places")
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_text(found: list[UsageRow]) -> str:
    """Return plain text: each symbol once, with its totals, its successor and its places."""
    groups = [line for group in grouped(found) for line in _paragraph(group)]
    return "\n".join([TITLE, "", *groups, summary(found), *next_step(found), ""])


def _paragraph(group: list[UsageRow]) -> list[str]:
    entry = group[0].entry
    (total,) = totals(group)
    return [
        f"{entry.id}  {entry.symbol}  ({_total(total)})",
        f"       instead: {entry.successor}",
        f"       {entry.guide}",
        *(f"       {_where(row)}" for row in group),
        "",
    ]


def totals_table(found: list[UsageRow]) -> list[str]:
    """Return the totals as aligned lines, one per id, and an empty line."""
    if not found:
        return []
    lines = [_TOTALS, *(one.cells for one in totals(found))]
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
    """Return the line that says what to do next."""
    if not found:
        return []
    return [
        f"Next: `{found[0].entry.guide}` shows the first of them before and after; "
        f"`tritonclient-shim explain {found[0].entry.id}` tells the same in short."
    ]


def render_json(found: list[UsageRow]) -> str:
    """Return the rows as JSON."""
    return dumped(json_document(found))


def json_document(found: list[UsageRow]) -> dict[str, Any]:
    """Return one object: title, summary and the uses."""
    uses = [row.as_dict() for row in found]
    return {"title": TITLE, "summary": summary(found), "uses": uses}


def dumped(document: dict[str, Any]) -> str:
    """Return the text of a document, with a line break at its end."""
    return json.dumps(document, indent=2) + "\n"


def render_sarif(found: list[UsageRow]) -> str:
    """Return the rows as SARIF."""
    return dumped(sarif_document(found))


def sarif_document(found: list[UsageRow]) -> dict[str, Any]:
    """Return one run; the ids are its rules, the uses its results."""
    entries = {row.entry.id: row.entry for row in found}
    driver = {
        "name": "tritonclient-shim",
        "rules": [_rule(entry) for _, entry in sorted(entries.items())],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(row) for row in found],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(entry: RegistryEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "shortDescription": {"text": f"legacy: {entry.symbol}"},
        "help": {"text": f"Use {entry.successor} instead. See `{entry.guide}`"},
        "properties": {"since": entry.since},
    }


def _result(row: UsageRow) -> dict[str, Any]:
    text = f"{row.entry.symbol} is deprecated. Use {row.entry.successor} instead."
    found: dict[str, Any] = {
        "ruleId": row.entry.id,
        "level": "warning",
        "message": {"text": text if row.cell is None else f"Cell {row.cell}: {text}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(row.file.replace("\\", "/"), safe="/:<>")},
                    "region": _region(row),
                }
            }
        ],
    }
    if row.count is not None:
        found["occurrenceCount"] = row.count
    return found


def _region(row: UsageRow) -> dict[str, Any]:
    """Line, and where they are known column and text of the line."""
    found: dict[str, Any] = {"startLine": max(row.line, 1)}
    if row.column is not None:
        found.update(startColumn=row.column, snippet={"text": row.snippet})
    return found

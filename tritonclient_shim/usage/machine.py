"""Rows → JSON, and SARIF 2.1.0 for code-review tools."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from tritonclient_shim.registry.entry import RegistryEntry
from tritonclient_shim.usage.rows import TITLE, UsageRow, summary

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_json(found: list[UsageRow]) -> str:
    """One object: title, summary and the uses."""
    uses = [row.as_dict() for row in found]
    return json.dumps({"title": TITLE, "summary": summary(found), "uses": uses}, indent=2) + "\n"


def render_sarif(found: list[UsageRow]) -> str:
    """One run; the ids are its rules, the uses its results."""
    entries = {row.entry.id: row.entry for row in found}
    driver = {
        "name": "tritonclient-shim",
        "rules": [_rule(entry) for _, entry in sorted(entries.items())],
    }
    run = {"tool": {"driver": driver}, "results": [_result(row) for row in found]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(entry: RegistryEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "shortDescription": {"text": f"legacy: {entry.symbol}"},
        "help": {"text": f"Use {entry.successor} instead. See `{entry.guide}`"},
        "properties": {"automatic": entry.automatic, "since": entry.since},
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
                    "region": {"startLine": max(row.line, 1)},
                }
            }
        ],
    }
    if row.count is not None:
        found["occurrenceCount"] = row.count
    return found

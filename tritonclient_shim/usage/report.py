"""The usage report as text, as JSON, and as SARIF 2.1.0 for code-review tools.

Also writes the report to a file, and prints that of a process on stderr when it ends.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from typing import Any
from urllib.parse import quote

from tritonclient_shim.registry.entry import RegistryEntry
from tritonclient_shim.usage import Recorder
from tritonclient_shim.usage.rows import UsageRow, grouped, rows_of, summary

_TITLE = "Legacy API in use"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(rows: list[UsageRow], scope: str = "") -> str:
    """Return plain text: each symbol once, with its calls, its successor and its places."""
    head = [_TITLE, scope] if scope else [_TITLE]
    groups = [line for group in grouped(rows) for line in _paragraph(group)]
    return "\n".join([*head, "", *groups, summary(rows), *next_step(rows), ""])


def _paragraph(group: list[UsageRow]) -> list[str]:
    entry = group[0].entry
    return [
        f"{entry.id}  {entry.symbol}  ({_total(group)})",
        f"       instead: {entry.successor}",
        f"       {entry.guide}",
        *(f"       {_where(row)}" for row in group),
        "",
    ]


def _total(group: list[UsageRow]) -> str:
    places = f"{len(group)} place" + "s" * (len(group) != 1)
    calls = sum(row.count or 0 for row in group)
    return f"{calls} call{'s' * (calls != 1)} at {places}"


def _where(row: UsageRow) -> str:
    return f"{row.place}  " + ("once" if row.count == 1 else f"{row.count} times")


def next_step(rows: list[UsageRow]) -> list[str]:
    """Return the line that says what to do next."""
    if not rows:
        return []
    entry = rows[0].entry
    return [
        f"Next: `{entry.guide}` explains what to write instead of the first; "
        f"`tritonclient-shim explain {entry.id}` shows its code alone."
    ]


def dumped(document: dict[str, Any]) -> str:
    """Return the text of a document, with a line break at its end."""
    return json.dumps(document, indent=2) + "\n"


def json_document(rows: list[UsageRow]) -> dict[str, Any]:
    """Return one object: title, summary and the uses."""
    uses = [row.as_dict() for row in rows]
    return {"title": _TITLE, "summary": summary(rows), "uses": uses}


def sarif_document(rows: list[UsageRow], unreadable: list[str]) -> dict[str, Any]:
    """Return one run; the ids are its rules, the uses its results.

    ``unreadable`` are the reasons why files could not be read.
    """
    entries = {row.entry.id: row.entry for row in rows}
    rules = [_rule(entry) for _, entry in sorted(entries.items())]
    run = {
        "tool": {"driver": {"name": "tritonclient-shim", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(row) for row in rows],
        "invocations": [
            {
                "executionSuccessful": not unreadable,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": _valid(reason)}} for reason in unreadable
                ],
            }
        ],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _valid(text: str) -> str:
    """Return a text that is valid in UTF-8, as names of files need not be."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _rule(entry: RegistryEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "shortDescription": {"text": f"legacy: {entry.symbol}"},
        "help": {"text": f"Use {entry.successor} instead. See `{entry.guide}`"},
        "properties": {"since": entry.since},
    }


def _result(row: UsageRow) -> dict[str, Any]:
    message = f"{row.entry.symbol} is deprecated. Use {row.entry.successor} instead."
    region: dict[str, Any] = {"startLine": row.line, "startColumn": row.column}
    if row.cell is not None:  # of the file; in its JSON the column is another one
        region = {"startLine": row.file_line}
    region["snippet"] = {"text": row.snippet}
    uri = quote(os.fsencode(row.file.replace("\\", "/")), safe="/:<>")
    return {
        "ruleId": row.entry.id,
        "level": "warning",
        "message": {"text": message if row.cell is None else f"Cell {row.cell}: {message}"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
    }


# ------------------------------------------------------------------- at the end of a process


def render(rows: list[UsageRow], path: str, scope: str) -> str:
    """Return the report, as JSON if the path ends so, else as text.

    ``scope`` says which uses the report counts.
    """
    if path.lower().endswith(".json"):
        return dumped({**json_document(rows), "scope": scope})
    return text(rows, scope)


def write(rows: list[UsageRow], path: str, scope: str) -> None:
    """Write the report to a file. If that fails, name the reason on stderr."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(render(rows, path, scope))
    except OSError as error:
        print(f"tritonclient-shim: the usage report is lost: {error}", file=sys.stderr)


def print_at_exit(recorder: Recorder) -> None:
    """Print the recorder's uses on stderr when the process ends; nothing if there are none."""
    owner = os.getpid()

    def finish() -> None:
        rows = rows_of(recorder.counts())
        if rows and os.getpid() == owner:
            print("\n" + text(rows), file=sys.stderr)

    atexit.register(finish)

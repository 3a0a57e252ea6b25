"""Migrated files → a diff, and a report as text or JSON."""

from __future__ import annotations

import difflib
import io
import tokenize
from typing import Sequence

from tritonclient_shim.cli._output import count
from tritonclient_shim.rewrite.files import Migrated
from tritonclient_shim.usage import formats


def diff(file: Migrated) -> str:
    """Return the changes of a file, as ``diff -u`` shows them."""
    old, new = _lines(file.before), _lines(file.after)
    lines = difflib.unified_diff(old, new, file.path, file.path)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _lines(data: bytes) -> list[str]:
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    return data.decode(encoding).splitlines(keepends=True)


def render(format: str, files: list[Migrated], failures: Sequence[str]) -> str:
    """Return the report in one of the formats."""
    uses = [use for file in files for use in file.uses]
    summary = _summary(files, failures)
    if format == "json":
        return formats.dumped(
            {
                "title": "Migration from the legacy API",
                "summary": summary,
                "uses": [
                    {**row.as_dict(), "outcome": outcome.state.name.lower(), "what": outcome.what}
                    for row, outcome in uses
                ],
                "files": {
                    "read": _read(files),
                    "changed": [file.path for file in files if file.changed],
                    "failed": list(failures),
                },
            }
        )
    lines = [
        f"{row.place}: {row.entry.id} {outcome.state.value}: {outcome.what}"
        for row, outcome in uses
    ]
    return "\n".join([*lines, *([""] if lines else []), summary, ""])


def _summary(files: list[Migrated], failures: Sequence[str]) -> str:
    states = [outcome.state.value for file in files for _, outcome in file.uses]
    counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
    uses = "No use of the legacy API. " if files else ""
    if states:
        uses = f"{count(len(states), 'use')}: {counts}. "
    failed = f", {len(failures)} failed" if failures else ""
    changed = sum(file.changed for file in files)
    return f"{uses}{count(_read(files), 'file')} read{failed}; {changed} with changes."


def _read(files: list[Migrated]) -> int:
    """Return how many of the files were there before."""
    return sum(not file.is_new for file in files)

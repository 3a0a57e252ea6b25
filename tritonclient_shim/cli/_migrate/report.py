"""What a migration did → a diff, and a report as text, JSON or SARIF."""

from __future__ import annotations

import difflib
import io
import tokenize
from typing import TYPE_CHECKING, Any

from tritonclient_shim.cli._migrate import MigrateRefused
from tritonclient_shim.cli._scan.output import times
from tritonclient_shim.usage import formats
from tritonclient_shim.usage.report import obstacle

if TYPE_CHECKING:
    from tritonclient_shim.rewrite.files import Migrated


def diff(one: Migrated) -> str:
    """The changes of a file, as ``diff -u`` shows them."""
    old, new = (_lines(data) for data in (one.before, one.after))
    found = difflib.unified_diff(old, new, one.path, one.path)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in found)


def _lines(data: bytes) -> list[str]:
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    return data.decode(encoding).splitlines(keepends=True)


def render(format: str, done: list[Migrated], failed: list[str]) -> str:
    """The report in one of the formats."""
    if format == "json":
        return formats.dumped(_document(done, failed))
    if format == "sarif":
        return formats.dumped(_sarif(done, failed))
    return _text(done, failed)


def write(path: str, format: str, done: list[Migrated], failed: list[str]) -> None:
    """Write the report to a file."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(render(format, done, failed))
    except OSError as error:
        raise _refused(path, str(error.strerror)) from error


def check_place(path: str) -> None:
    """Refuse a place that no report can be written to."""
    reason = obstacle(path)
    if reason:
        raise _refused(path, reason)


def _refused(path: str, reason: str) -> MigrateRefused:
    return MigrateRefused(f"--report {path}: {reason}; expected a file that can be written")


def _text(done: list[Migrated], failed: list[str]) -> str:
    lines = [
        f"{row.place}: {row.entry.id} {outcome.state.value}: {outcome.what}"
        for one in done
        for row, outcome in one.uses
    ]
    return "\n".join([*lines, *([""] if lines else []), _summary(done, failed), ""])


def _summary(done: list[Migrated], failed: list[str]) -> str:
    states = [outcome.state.value for one in done for _, outcome in one.uses]
    counts = [f"{states.count(state)} {state}" for state in sorted(set(states))]
    changed = sum(one.changed for one in done)
    unreadable = f", {len(failed)} failed" if failed else ""
    told = f"{times(len(states), 'use')}: {', '.join(counts)}. "
    nothing = "No use of the legacy API. " if done else ""
    uses = told if states else nothing
    return f"{uses}{times(_read(done), 'file')} read{unreadable}; {changed} with changes."


def _read(done: list[Migrated]) -> int:
    """Return how many of the files were there before."""
    return sum(not one.is_new for one in done)


def _document(done: list[Migrated], failed: list[str]) -> dict[str, Any]:
    uses = [
        {**row.as_dict(), "outcome": outcome.state.name.lower(), "what": outcome.what}
        for one in done
        for row, outcome in one.uses
    ]
    changed = [one.path for one in done if one.changed]
    files = {"read": _read(done), "changed": changed, "failed": failed}
    return {
        "title": "Migration from the legacy API",
        "summary": _summary(done, failed),
        "uses": uses,
        "files": files,
    }


def _sarif(done: list[Migrated], failed: list[str]) -> dict[str, Any]:
    found = [(row, outcome) for one in done for row, outcome in one.uses]
    document = formats.sarif_document([row for row, _ in found])
    run = document["runs"][0]
    for result, (row, outcome) in zip(run["results"], found):
        where = "" if row.cell is None else f"Cell {row.cell}: "
        result["level"] = "warning" if outcome.todo else "note"
        result["message"] = {"text": f"{where}{outcome.state.value}: {outcome.what}"}
    notes = [{"level": "error", "message": {"text": reason}} for reason in failed]
    run["invocations"] = [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}]
    return document

"""What a scan found → text, JSON or SARIF."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from tritonclient_shim.cli._output import painter
from tritonclient_shim.usage import formats
from tritonclient_shim.usage.rows import UsageRow, summary

_UNKNOWN = (
    "Which of them `migrate` rewrites is known with libcst: "
    'pip install "tritonclient-shim[migrate]"'
)


@dataclass
class ScanReport:
    """The uses that are to be reported, and what became of the rest."""

    rows: list[UsageRow] = field(default_factory=list)
    read: list[str] = field(default_factory=list)  # the files
    unreadable: list[str] = field(default_factory=list)  # why, for each file
    ignored: int = 0  # uses that comments hide
    known: int = 0  # uses that the baseline has
    notes: list[str] = field(default_factory=list)  # what stderr gets
    interrupted: bool = False

    @property
    def sentences(self) -> str:
        """Return in sentences how many uses are in how many files."""
        hidden = [
            f"{times(self.ignored, 'use')} ignored by comments" if self.ignored else "",
            f"{times(self.known, 'use')} known to the baseline" if self.known else "",
        ]
        unreadable = f", {len(self.unreadable)} could not be read" if self.unreadable else ""
        parts = [f"{times(len(self.read), 'file')} read{unreadable}", *filter(None, hidden)]
        return f"{self._summary()}{'; '.join(parts)}."

    def _summary(self) -> str:
        if self.rows:
            return f"{summary(self.rows)} "
        if self.unreadable or not self.read:
            return ""  # "no use" would say more than is known
        other = "other " if self.ignored or self.known else ""
        return f"No {other}use of the legacy API. "


def times(number: int, what: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def render(report: ScanReport, format: str, color: str = "never") -> str:
    """Return the report in one of the formats; text may have colours."""
    if format == "text":
        return _text(report, painter(color))
    return _json(report) if format == "json" else _sarif(report)


def _text(report: ScanReport, paint: Callable[[str, str], str]) -> str:
    """Return each use with its line of the source, the totals, and what to do next."""
    lines = [line for row in report.rows for line in (_line(row, paint), *_source(row, paint))]
    lines += [""] if lines else []
    lines += [*formats.totals_table(report.rows), report.sentences]
    if any(row.rewritable is None for row in report.rows):
        lines.append(_UNKNOWN)
    return "\n".join([*lines, *formats.next_step(report.rows), ""])


def _line(row: UsageRow, paint: Callable[[str, str], str]) -> str:
    entry, how = row.entry, f" ({row.how})" if row.how else ""
    place, id = paint("place", f"{row.place}:"), paint("id", entry.id)
    return f"{place} {id} {entry.symbol}{how}; instead: {entry.successor}"


def _source(row: UsageRow, paint: Callable[[str, str], str]) -> list[str]:
    """Return the line of the source, and a mark below the place of the use."""
    before = row.snippet[: (row.column or 1) - 1].lstrip()
    padding = "".join("\t" if letter == "\t" else " " for letter in before)
    return [f"    {row.snippet.strip()}", f"    {padding}{paint('mark', '^')}"]


def _json(report: ScanReport) -> str:
    document = formats.json_document(report.rows)
    document["files"] = {"read": len(report.read), "unreadable": report.unreadable}
    document["hidden"] = {"ignored": report.ignored, "baseline": report.known}
    return formats.dumped(document)


def _sarif(report: ScanReport) -> str:
    """Return the report for code-review tools, with the files that could not be read."""
    document = formats.sarif_document(report.rows)
    notes: list[dict[str, Any]] = [
        {"level": "error", "message": {"text": reason}} for reason in report.unreadable
    ]
    document["runs"][0]["invocations"] = [
        {"executionSuccessful": not notes, "toolExecutionNotifications": notes}
    ]
    return formats.dumped(document)

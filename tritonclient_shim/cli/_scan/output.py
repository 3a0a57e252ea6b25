"""What a scan found → text, one line per use, JSON, Markdown or SARIF."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from tritonclient_shim.cli._scan import FORMATS
from tritonclient_shim.usage import machine, markdown, text
from tritonclient_shim.usage.rows import UsageRow, summary, totals


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
    def told(self) -> str:
        """How much was found in how many files, in sentences."""
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
    """A number of things, with the noun in the plural unless it is one."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _full(report: ScanReport, statistics: bool) -> str:
    """Each use with the line of the source, the totals, and what to do next."""
    uses = (
        [] if statistics else [line for row in report.rows for line in (_line(row), *_source(row))]
    )
    gap = [""] if uses else []
    rest = [*text.totals_table(report.rows), report.told, *text.next_step(report.rows)]
    return "\n".join([*uses, *gap, *rest, ""])


def _concise(report: ScanReport, statistics: bool) -> str:
    """One line per use, as linters write them."""
    shown = text.totals_table(report.rows) if statistics else [_line(row) for row in report.rows]
    return "\n".join([*shown, report.told, ""])


def _line(row: UsageRow) -> str:
    entry = row.entry
    return f"{row.place}: {entry.id} {entry.symbol} ({row.how}); instead: {entry.successor}"


def _source(row: UsageRow) -> list[str]:
    """The line of the source, and a mark below the place of the use."""
    before = row.snippet[: (row.column or 1) - 1].lstrip()
    padding = "".join("\t" if letter == "\t" else " " for letter in before)
    return [f"    {row.snippet.strip()}", f"    {padding}^"]


def _json(report: ScanReport, statistics: bool) -> str:
    """The report as one object; with statistics the ids and numbers instead of the uses."""
    document = machine.json_document(report.rows)
    if statistics:
        del document["uses"]
        document["statistics"] = [
            {"id": one.entry.id, "symbol": one.entry.symbol, "places": one.places}
            for one in totals(report.rows)
        ]
    document["files"] = {"read": len(report.read), "unreadable": report.unreadable}
    document["hidden"] = {"ignored": report.ignored, "baseline": report.known}
    return machine.dumped(document)


def _markdown(report: ScanReport, statistics: bool) -> str:
    """The report as a page."""
    return markdown.page(report.rows, report.told, uses=not statistics)


def _sarif(report: ScanReport, statistics: bool) -> str:
    """The report for code-review tools, with the files that could not be read."""
    document = machine.sarif_document(report.rows)
    notes: list[dict[str, Any]] = [
        {"level": "error", "message": {"text": reason}} for reason in report.unreadable
    ]
    document["runs"][0]["invocations"] = [
        {"executionSuccessful": not notes, "toolExecutionNotifications": notes}
    ]
    return machine.dumped(document)


def render(report: ScanReport, format: str, statistics: bool) -> str:
    """The report in one of the formats; with statistics the totals without the uses."""
    writers: tuple[Callable[[ScanReport, bool], str], ...]
    writers = (_full, _concise, _json, _markdown, _sarif)
    return dict(zip(FORMATS, writers))[format](report, statistics)

"""The uses that a scan found → text, JSON or SARIF."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable

from tritonclient_shim.cli._output import count, painter
from tritonclient_shim.usage import formats
from tritonclient_shim.usage.rows import UsageRow, grouped, summary


@dataclass
class ScanReport:
    """The uses to report, and the number of hidden ones."""

    rows: list[UsageRow] = field(default_factory=list)
    read: list[str] = field(default_factory=list)  # the files
    unreadable: list[str] = field(default_factory=list)  # why, for each file
    ignored: int = 0  # uses that comments hide
    known: int = 0  # uses that the baseline has
    notes: list[str] = field(default_factory=list)  # for stderr
    interrupted: bool = False

    @property
    def sentences(self) -> str:
        """Return in sentences how many uses are in how many files."""
        unreadable = f", {len(self.unreadable)} could not be read" if self.unreadable else ""
        text = f"{count(len(self.read), 'file')} read{unreadable}"
        if self.ignored:
            text += f"; {count(self.ignored, 'use')} ignored by comments"
        if self.known:
            text += f"; {count(self.known, 'use')} known to the baseline"
        return f"{self._summary()}{text}."

    def _summary(self) -> str:
        if self.rows:
            return f"{summary(self.rows)} "
        if self.unreadable or not self.read:
            return ""  # "no use" would say more than is known
        other = "other " if self.ignored or self.known else ""
        return f"No {other}use of the legacy API. "


def render(report: ScanReport, format: str, color: str) -> str:
    """Return the report in one of the formats; text may have colours."""
    if format == "json":
        document = formats.json_document(report.rows)
        document["files"] = {"read": len(report.read), "unreadable": report.unreadable}
        document["hidden"] = {"ignored": report.ignored, "baseline": report.known}
        return formats.dumped(document)
    if format == "sarif":
        return formats.dumped(formats.sarif_document(report.rows, report.unreadable))
    return _text(report, painter(color))


def _text(report: ScanReport, paint: Callable[[str, str], str]) -> str:
    """Return each use with its line of the source, the totals, and what to do next."""
    lines = [line for row in report.rows for line in _lines(row, paint)]
    lines += ["", *_totals(report.rows), ""] if lines else []
    lines.append(report.sentences)
    return "\n".join([*lines, *formats.next_step(report.rows), ""])


def _lines(row: UsageRow, paint: Callable[[str, str], str]) -> list[str]:
    """Return the use, its line of the source, and a mark below its place."""
    entry, how = row.entry, f" ({row.how})" if row.how else ""
    before = row.snippet[: (row.column or 1) - 1].lstrip()
    padding = "".join("\t" if letter == "\t" else " " for letter in before)
    return [
        f"{paint('place', f'{row.place}:')} {paint('id', entry.id)} {entry.symbol}{how}; "
        f"instead: {entry.successor}",
        f"    {row.snippet.strip()}",
        f"    {padding}{paint('mark', '^')}",
    ]


def _totals(rows: list[UsageRow]) -> list[str]:
    """Return the number of places of each id, as aligned lines."""
    table = [("id", "legacy symbol", "places")]
    table += [
        (group[0].entry.id, group[0].entry.symbol, f"{len(group)}") for group in grouped(rows)
    ]
    width = max(len(symbol) for _, symbol, _ in table)
    return [f"  {id:<5}  {symbol:<{width}}  {places:>6}" for id, symbol, places in table]

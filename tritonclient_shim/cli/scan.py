"""List the legacy uses in sources, without running them.

A comment `# tritonshim: ignore[TS051]` at a line's end hides these ids on its
line, and without ids all.

"automatic" is what `migrate` rewrites at its place, with the options beside it.

Exit status: 0 nothing found, 1 uses found, 2 wrong usage, 3 files that could
not be read or parsed, whose reasons are on stderr, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, NamedTuple

from tritonclient_shim.cli import Refused, count, show, tell
from tritonclient_shim.cli._config import fill_in
from tritonclient_shim.cli._files import NO_FILE, add_files, bug, chosen, ids
from tritonclient_shim.cli._terminal import BOLD, YELLOW, Progress, painted
from tritonclient_shim.usage import report as usage_report
from tritonclient_shim.usage.rows import UsageRow, grouped, summary

if TYPE_CHECKING:
    from tritonclient_shim.migrate.program import Program

FORMATS = ("text", "json", "sarif")
_NOTHING = 0
_FOUND = 1
_UNREADABLE = 3
_BASELINE_VERSION = 1


@dataclass
class ScanReport:
    """The uses to report, and what was read."""

    rows: list[UsageRow] = field(default_factory=list)
    read: int = 0  # files
    unreadable: list[str] = field(default_factory=list)  # why, for each file

    @property
    def sentences(self) -> str:
        """Return in sentences how many uses are in how many files."""
        uses = summary(self.rows) if self.rows else "No use to report."
        failed = f", {len(self.unreadable)} could not be read" if self.unreadable else ""
        return f"{uses} {count(self.read, 'file')} read{failed}."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim scan``."""
    add_files(parser)
    add = parser.add_argument
    add("--format", choices=FORMATS, default="text",
        help="of the report (default: %(default)s)")  # fmt: skip
    add("--only", metavar="IDS", type=ids,
        help="look for these ids alone, with commas between, such as TS050,TS051")  # fmt: skip
    baseline = parser.add_mutually_exclusive_group()
    baseline.add_argument("--baseline", metavar="FILE",
        help="do not report the uses in this file, which --write-baseline has written")  # fmt: skip
    baseline.add_argument("--write-baseline", metavar="FILE",
        help="write the uses to this file, for --baseline, and do not report them")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Scan and print → exit status."""
    options = {"exclude": "exclude", "select": "only"}
    if not arguments.write_baseline:
        options["baseline"] = "baseline"
    fill_in(arguments, options)
    baseline = _read_baseline(arguments.baseline) if arguments.baseline else None
    report = _scanned(arguments)
    for reason in report.unreadable:
        tell("scan", reason)
    if not report.read and not report.unreadable:
        tell("scan", NO_FILE)
    if baseline is not None:
        report.rows = _new(report.rows, arguments.baseline, baseline)
    if arguments.write_baseline:
        return _baseline_from(report, arguments.write_baseline)
    show(_render(report, arguments.format))
    if report.unreadable:
        return _UNREADABLE
    return _FOUND if report.rows else _NOTHING


def _baseline_from(report: ScanReport, path: str) -> int:
    """Write a baseline of all uses → exit status. Write none if files are missing in it."""
    if report.unreadable:
        tell("scan", f"{path} is not written: it would lack the uses of the files above; repair "
             "them, or leave them out with --exclude")  # fmt: skip
        return _UNREADABLE
    if not report.read:
        raise Refused(f"{path} is not written: no file was read")
    _write_baseline(path, report.rows)
    show(f"The uses are written to {path}. {report.sentences}\n")
    return _NOTHING


def _scanned(arguments: argparse.Namespace) -> ScanReport:
    """Return the uses in the chosen files."""
    from tritonclient_shim.migrate.program import Program
    from tritonclient_shim.notice.warn import without_syntax_warnings
    from tritonclient_shim.scan.sources import Unreadable, is_ignored

    report = ScanReport()
    paths = chosen(arguments)
    program = Program(paths, is_whole=True)
    with without_syntax_warnings(), Progress(len(paths)) as progress:
        for number, path in enumerate(paths, 1):
            progress.step(number, path)
            try:
                uses = _uses(path, report, program)
            except Unreadable as error:
                report.unreadable.append(str(error))
                continue
            except Exception as error:
                effect = "which has not read the file"
                report.unreadable.append(bug("scan", path, error, effect))
                continue
            selected = [row for row in uses if not arguments.only or row.entry.id in arguments.only]
            report.rows += [row for row in selected if not is_ignored(row.snippet, row.entry.id)]
            report.read += 1
    return report


def _uses(path: str, report: ScanReport, program: Program) -> list[UsageRow]:
    """Return the uses in a file; raise Unreadable if it cannot be read."""
    from tritonclient_shim.migrate.files import scan, scan_without_rules
    from tritonclient_shim.scan import sources
    from tritonclient_shim.scan.imports import may_use_v1

    data = sources.content(path, may_be_pipe=True)
    if not may_use_v1(path, data):
        return []
    source = sources.parsed(path, data)
    report.unreadable += source.broken
    with sources.not_too_deep(path):
        try:
            return scan(source, program)
        except (RecursionError, MemoryError):
            raise
        except Exception as error:  # one file must not keep the others from being scanned
            effect = 'which does not know what "migrate" would do with the file'
            report.unreadable.append(bug("scan", path, error, effect))
            return scan_without_rules(source)


# --------------------------------------------------------------------------------------- report


def _render(report: ScanReport, format: str) -> str:
    """Return the report in one of the formats."""
    if format == "json":
        document = usage_report.json_document(report.rows)
        document["files"] = {"read": report.read, "unreadable": report.unreadable}
        return usage_report.dumped(document)
    if format == "sarif":
        return usage_report.dumped(usage_report.sarif_document(report.rows, report.unreadable))
    return _text(report)


def _text(report: ScanReport) -> str:
    """Return each use with its line of the source, the successors, totals, and the next step."""
    lines = []
    for row in report.rows:
        place = painted(row.place, BOLD)
        id = painted(row.entry.id, YELLOW)
        lines.append(f"{place}: {id} {row.entry.symbol}{f' ({row.how})' if row.how else ''}")
        lines.append(f"    {row.snippet.strip()}")
    lines += _successors(report.rows)
    return "\n".join([*lines, report.sentences, *usage_report.next_step(report.rows), ""])


def _successors(rows: list[UsageRow]) -> list[str]:
    """Return a line for each id: what to write instead."""
    entries = [group[0].entry for group in grouped(rows)]
    lines = [f"  {painted(entry.id, YELLOW)}  {entry.successor}" for entry in entries]
    return ["", painted("Instead", BOLD), *lines, ""] if lines else []


# ----------------------------------------------------------------------------------- known uses


class KnownUse(NamedTuple):
    """A use by the text of its line; the file as seen from the baseline's folder."""

    file: str
    id: str
    line: str


def _read_baseline(path: str) -> Counter[KnownUse]:
    """Return how often each use is known; raise Refused if the file is no baseline."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if document["version"] != _BASELINE_VERSION:
            raise ValueError(f"its version is {document['version']}")
        uses = document["uses"]
        return Counter({KnownUse(u["file"], u["id"], u["line"]): index(u["count"]) for u in uses})
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise Refused(
            f"{path} is no baseline ({type(error).__name__}: {error}); expected one that was "
            f"written with: tritonclient-shim scan --write-baseline {path} PATH"
        ) from error


def _new(rows: list[UsageRow], path: str, baseline: Counter[KnownUse]) -> list[UsageRow]:
    """Return the uses that are not known. A second equal use must be known, too."""
    new = []
    for row in rows:
        use = _known(path, row)
        baseline[use] -= 1
        if baseline[use] < 0:
            new.append(row)
    return new


def _write_baseline(path: str, rows: list[UsageRow]) -> None:
    """Write these uses to a baseline, sorted. A present file is replaced as a whole."""
    from tritonclient_shim.migrate.writing import replace_file

    counted = Counter(_known(path, row) for row in rows)
    uses = [{**use._asdict(), "count": count} for use, count in sorted(counted.items())]
    text = json.dumps({"version": _BASELINE_VERSION, "uses": uses}, indent=2) + "\n"
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise Refused(
            f"the baseline {path} cannot be written: {error.strerror}; name a file in a folder "
            "that exists and can be written to"
        ) from error


def _known(path: str, row: UsageRow) -> KnownUse:
    """Return the use as the baseline at ``path`` has it."""
    folder = os.path.dirname(os.path.realpath(path))
    file = os.path.relpath(os.path.realpath(row.file), folder).replace(os.sep, "/")
    return KnownUse(file, row.entry.id, row.snippet.strip())

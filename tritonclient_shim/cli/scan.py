"""List the legacy uses in sources, without running them.

A comment `# tritonshim: ignore[TS051]` at a line's end hides these ids on its line, and without
ids all.

"automatic" is what `migrate --unsafe` rewrites at its place.

Exit status: 0 nothing found, 1 uses found, 2 wrong usage, 3 files that could not be read or parsed,
130 interrupted. With 3 and 130 the uses in the other files are printed.
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from tritonclient_shim.cli import INTERRUPTED, tell
from tritonclient_shim.cli._files import add_files, chosen, ids
from tritonclient_shim.cli._output import FORMATS, add_color, progress, show

if TYPE_CHECKING:
    from tritonclient_shim.cli._scan.output import ScanReport
    from tritonclient_shim.migrate.candidates import Candidates
    from tritonclient_shim.usage.rows import UsageRow

_NOTHING, _FOUND, _UNREADABLE = 0, 1, 3
_NO_FILE = "no file to read; expected .py, .pyw or .ipynb in the folders, and not all excluded"
_GONE = (
    "{number} of the uses in {path} are gone; write it again with "
    "tritonclient-shim scan --write-baseline {path} PATH"
)
#: Ids in brackets, or the end of the comment.
_IGNORE = re.compile(r"#\s*tritonshim:\s*ignore\s*(?:\[([^\]]+)\]|$|#)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim scan``."""
    add_files(parser)
    add = parser.add_argument
    add("--format", choices=FORMATS, default=FORMATS[0],
        help="of the report (default: %(default)s)")  # fmt: skip
    add("--only", metavar="IDS", type=ids,
        help="look for these ids alone, with commas between, such as TS050,TS051")  # fmt: skip
    baseline = parser.add_mutually_exclusive_group()
    baseline.add_argument("--baseline", metavar="FILE",
        help="do not report the uses in this file, which --write-baseline has written")  # fmt: skip
    baseline.add_argument("--write-baseline", metavar="FILE",
        help="write the uses to this file, for --baseline, and do not report them")  # fmt: skip
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Scan and print → exit status."""
    from tritonclient_shim.cli._scan import baseline
    from tritonclient_shim.cli._scan.output import ScanReport, render

    report = ScanReport()
    _scan_all(arguments, report)
    path = "" if report.interrupted else arguments.write_baseline
    if path:
        baseline.write(path, report.rows)
    for text in report.notes:
        tell("scan", text)
    if path:
        show(f"The uses are written to {path}. {report.sentences}\n")
    else:
        show(render(report, arguments.format, arguments.color))
    if report.interrupted:
        return INTERRUPTED
    if report.unreadable:
        return _UNREADABLE
    return _FOUND if report.rows and not path else _NOTHING


def _scan_all(arguments: argparse.Namespace, report: ScanReport) -> None:
    """Scan every file into the report."""
    from tritonclient_shim.cli._scan.baseline import Baseline
    from tritonclient_shim.migrate.candidates import Candidates
    from tritonclient_shim.notice.warn import without_syntax_warnings

    known = Baseline(arguments.baseline) if arguments.baseline else None
    paths = list(chosen(arguments))
    candidates = Candidates()
    try:
        with without_syntax_warnings():
            for path in progress(paths, "scan"):
                _scan_file(path, arguments.only, candidates, report)
    except KeyboardInterrupt:
        report.interrupted = True
        report.notes.append(f"interrupted: {len(report.read)} of {len(paths)} files were read")
    if known:
        rows = [row for row in report.rows if not known.take(row)]
        report.known, report.rows = len(report.rows) - len(rows), rows
        gone = known.gone(report.read, arguments.only)
        report.notes += [_GONE.format(number=gone, path=arguments.baseline)] if gone else []
    if not paths:
        report.notes.append(_NO_FILE)


def _scan_file(
    path: str, only: frozenset[str] | None, candidates: Candidates, report: ScanReport
) -> None:
    """Add the uses of one file to the report, or why it cannot be read."""
    from tritonclient_shim.migrate import sources
    from tritonclient_shim.rewrite.files import scan

    try:
        data = sources.content(path)
        if not candidates.includes(path, data):
            report.read.append(path)
            return
        source = sources.parsed(path, data)
        with sources.not_too_deep(path):
            uses = scan(source)
    except sources.Unreadable as error:
        report.unreadable.append(str(error))
        report.notes.append(str(error))
        return
    uses = [row for row in uses if not only or row.entry.id in only]
    rows = [row for row in uses if not _is_ignored(row)]
    report.read.append(source.path)
    report.rows += rows
    report.ignored += len(uses) - len(rows)
    report.unreadable += source.broken
    report.notes += source.broken


def _is_ignored(row: UsageRow) -> bool:
    """True if a comment on the line hides this use."""
    comment = _IGNORE.search(row.snippet)
    if comment is None:
        return False
    return not comment[1] or row.entry.id in re.findall(r"\w+", comment[1].upper())

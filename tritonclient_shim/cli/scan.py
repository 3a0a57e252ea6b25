"""List the legacy uses in sources, without running them.

A comment `# tritonshim: ignore[TS051]` at a line's end hides what the line has; without the ids,
everything. The options baseline, exclude, exit-zero, format and only can stand in pyproject.toml,
below [tool.tritonclient-shim.scan].

"automatic" is what `migrate --unsafe` rewrites at its place. This needs libcst, pip install
"tritonclient-shim[migrate]"; without it nothing is said of that.

Exit status: 0 nothing found, 1 uses found, 2 wrong usage or configuration, 3 files that could not
be read or parsed, which are named; what the others have is printed all the same. 130 interrupted:
what was found so far is printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tritonclient_shim.cli import INTERRUPTED
from tritonclient_shim.cli._output import add_color
from tritonclient_shim.cli._scan import FORMATS, ScanRefused

if TYPE_CHECKING:
    from tritonclient_shim.cli._scan.options import ScanOptions
    from tritonclient_shim.cli._scan.output import ScanReport
    from tritonclient_shim.migrate.candidates import Candidates
    from tritonclient_shim.migrate.sources import ParsedSource
    from tritonclient_shim.usage.rows import UsageRow

_NOTHING, _FOUND, _REFUSED, _UNREADABLE = 0, 1, 2, 3
_NO_FILE = "no file to read; expected .py, .pyw or .ipynb in the folders, and not all excluded"
_GONE = (
    "{number} of the uses in {path} are gone; write it again with "
    "tritonclient-shim scan --write-baseline {path} PATH"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim scan``."""

    def add(*names: str, **how: Any) -> None:
        parser.add_argument(*names, default=argparse.SUPPRESS, **how)

    add("paths", nargs="+", metavar="PATH", help="a file, a notebook or a folder")
    add("--format", choices=FORMATS, help="of the report, text unless configured otherwise")
    add("--only", action="append", metavar="IDS",
        help="look for these ids alone, with commas between, such as TS050,TS051")  # fmt: skip
    add("--exclude", action="append", metavar="GLOBS",
        help="leave out files and folders of these names, or paths where there is a /, with commas "
        "between; beside build, dist, site-packages, node_modules and hidden folders")  # fmt: skip
    add("--baseline", metavar="FILE",
        help="do not report the uses in this file, which --write-baseline has written")  # fmt: skip
    add("--write-baseline", metavar="FILE",
        help="write the uses to this file, for --baseline, and do not report them")  # fmt: skip
    add("--exit-zero", action="store_true", help="exit with 0 where uses are found, too")
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Scan and print → exit status."""
    from tritonclient_shim.cli._output import show
    from tritonclient_shim.cli._scan.options import options
    from tritonclient_shim.cli._scan.output import ScanReport, render

    report = ScanReport()
    try:
        wanted = options(arguments)
        _scan_all(wanted, report)
        if wanted.write_baseline and not report.interrupted:
            _write_baseline(wanted, report)
    except ScanRefused as error:
        _tell(str(error))
        return _REFUSED
    for text in report.notes:
        _tell(text)
    if report.interrupted or not wanted.write_baseline:
        show(render(report, wanted.format, arguments.color))
    if report.interrupted:
        return INTERRUPTED
    if report.unreadable:
        return _UNREADABLE
    found = report.rows and not wanted.write_baseline and not wanted.exit_zero
    return _FOUND if found else _NOTHING


def _scan_all(wanted: ScanOptions, report: ScanReport) -> None:
    """Scan every file into the report."""
    from tritonclient_shim.cli._output import progress
    from tritonclient_shim.cli._scan import baseline, files
    from tritonclient_shim.migrate.candidates import Candidates
    from tritonclient_shim.notice.warn import without_syntax_warnings

    known = baseline.read(wanted.baseline) if wanted.baseline else None
    paths = list(files.chosen(wanted.paths, wanted.excluded))
    candidates = Candidates()
    try:
        with without_syntax_warnings():
            for path in progress(paths, "scan"):
                _scan_file(path, wanted, candidates, report)
    except KeyboardInterrupt:
        report.interrupted = True
        report.notes.append(f"interrupted: {len(report.read)} of {len(paths)} files were read")
    if known is not None:
        found, report.rows = len(report.rows), baseline.unknown(wanted.baseline, known, report.rows)
        report.known = found - len(report.rows)
        gone = baseline.gone(wanted.baseline, known, report.read, wanted.only)
        report.notes += [_GONE.format(number=gone, path=wanted.baseline)] if gone else []
    if not paths:
        report.notes.append(_NO_FILE)


def _scan_file(path: str, wanted: ScanOptions, candidates: Candidates, report: ScanReport) -> None:
    """Add the uses of one file to the report, or why it cannot be read."""
    from tritonclient_shim.cli._scan import ignores
    from tritonclient_shim.migrate import sources
    from tritonclient_shim.migrate.scan import scan

    try:
        data = sources.content(path)
        if not candidates.includes(path, data):
            report.read.append(path)
            return
        source = sources.parsed(path, data)
        with sources.not_too_deep(path):
            uses = _judged(source, scan(source))
    except sources.Unreadable as error:
        report.unreadable.append(str(error))
        report.notes.append(str(error))
        return
    rows = [row for row in uses if not wanted.only or row.entry.id in wanted.only]
    outcome = ignores.applied(source, rows, wanted.only)
    report.read.append(source.path)
    report.rows += outcome.rows
    report.ignored += outcome.hidden
    report.unreadable += source.broken
    report.notes += [*source.broken, *outcome.notes]


def _judged(source: ParsedSource, rows: list[UsageRow]) -> list[UsageRow]:
    """Return the uses; with libcst installed each says whether ``migrate`` rewrites it."""
    if not rows or importlib.util.find_spec("libcst") is None:
        return rows
    from tritonclient_shim.rewrite.files import rewritable

    known = rewritable(source)
    return [replace(row, rewritable=known.get((row.place, row.entry.id))) for row in rows]


def _write_baseline(wanted: ScanOptions, report: ScanReport) -> None:
    from tritonclient_shim.cli._output import show
    from tritonclient_shim.cli._scan import baseline

    baseline.write(wanted.write_baseline, report.rows)
    show(f"The uses are written to {wanted.write_baseline}. {report.sentences}\n")


def _tell(text: str) -> None:
    print(f"tritonclient-shim scan: {text}", file=sys.stderr)

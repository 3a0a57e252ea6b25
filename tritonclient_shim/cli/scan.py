"""List the legacy uses in sources, without running them.

A comment `# tritonshim: ignore[TS051]` at a line's end hides these ids on its line, and without
ids all. The options baseline, exclude, exit-zero, format and only can stand in pyproject.toml,
below [tool.tritonclient-shim.scan].

"automatic" is what `migrate --unsafe` rewrites at its place.

Exit status: 0 nothing found, 1 uses found, 2 wrong usage or configuration, 3 files that could not
be read or parsed, 130 interrupted. With 3 and 130 the uses in the other files are printed.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tritonclient_shim.cli import INTERRUPTED, tell
from tritonclient_shim.cli._output import FORMATS, add_color, progress, show

if TYPE_CHECKING:
    from tritonclient_shim.cli._scan.options import ScanOptions
    from tritonclient_shim.cli._scan.output import ScanReport
    from tritonclient_shim.migrate.candidates import Candidates

_NOTHING, _FOUND, _UNREADABLE = 0, 1, 3
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
    from tritonclient_shim.cli._scan import baseline
    from tritonclient_shim.cli._scan.options import options
    from tritonclient_shim.cli._scan.output import ScanReport, render

    report, wanted = ScanReport(), options(arguments)
    _scan_all(wanted, report)
    writes = bool(wanted.write_baseline) and not report.interrupted
    if writes:
        baseline.write(wanted.write_baseline, report.rows)
    for text in report.notes:
        tell("scan", text)
    if writes:
        show(f"The uses are written to {wanted.write_baseline}. {report.sentences}\n")
    else:
        show(render(report, wanted.format, arguments.color))
    if report.interrupted:
        return INTERRUPTED
    if report.unreadable:
        return _UNREADABLE
    return _FOUND if report.rows and not (writes or wanted.exit_zero) else _NOTHING


def _scan_all(wanted: ScanOptions, report: ScanReport) -> None:
    """Scan every file into the report."""
    from tritonclient_shim.cli._scan.baseline import Baseline
    from tritonclient_shim.cli._scan.files import chosen
    from tritonclient_shim.migrate.candidates import Candidates
    from tritonclient_shim.notice.warn import without_syntax_warnings

    known = Baseline(wanted.baseline) if wanted.baseline else None
    paths = list(chosen(wanted.paths, wanted.excluded))
    candidates = Candidates()
    try:
        with without_syntax_warnings():
            for path in progress(paths, "scan"):
                _scan_file(path, wanted, candidates, report)
    except KeyboardInterrupt:
        report.interrupted = True
        report.notes.append(f"interrupted: {len(report.read)} of {len(paths)} files were read")
    if known:
        rows = [row for row in report.rows if not known.take(row)]
        report.known, report.rows = len(report.rows) - len(rows), rows
        gone = known.gone(report.read, wanted.only)
        report.notes += [_GONE.format(number=gone, path=wanted.baseline)] if gone else []
    if not paths:
        report.notes.append(_NO_FILE)


def _scan_file(path: str, wanted: ScanOptions, candidates: Candidates, report: ScanReport) -> None:
    """Add the uses of one file to the report, or why it cannot be read."""
    from tritonclient_shim.cli._scan import ignores
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
    uses = [row for row in uses if not wanted.only or row.entry.id in wanted.only]
    rows, problems = ignores.shown(source, uses, wanted.only)
    report.read.append(source.path)
    report.rows += rows
    report.ignored += len(uses) - len(rows)
    report.unreadable += source.broken
    report.notes += [*source.broken, *problems]

"""List the legacy uses in source files, folders and notebooks, without running them.

Exit status: 0 none found, 1 some found, 2 a file could not be read.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tritonclient_shim.usage.rows import UsageRow

#: Format → a file name with the ending by which `usage.report` chooses that format.
_FORMATS = {"text": "x.txt", "json": "x.json", "markdown": "x.md", "sarif": "x.sarif"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tritonclient-shim scan``."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a file, a notebook or a folder")
    add("--format", choices=_FORMATS, default="text", help="how to write what is found")
    add("--only", metavar="IDS", default=argparse.SUPPRESS,
        help="look for these ids alone, with commas between, such as TS050,TS051")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Scan and print → exit status."""
    from tritonclient_shim.migrate import sources
    from tritonclient_shim.migrate.scan import scan
    from tritonclient_shim.registry import ENTRIES
    from tritonclient_shim.usage import report

    only = {id.strip().upper() for id in getattr(arguments, "only", "").split(",") if id.strip()}
    if only - set(ENTRIES):
        return _fail(f"no such id: {', '.join(sorted(only - set(ENTRIES)))}")
    found: list[UsageRow] = []
    status = 0
    for path in sources.files(arguments.paths):
        try:
            source = sources.read(path)
            found += scan(source)
            for text in source.broken:
                status = _fail(text)
        except sources.Unreadable as error:
            status = _fail(str(error))
    if only:
        found = [row for row in found if row.entry.id in only]
    if found or not status or arguments.format != "text":  # after an error, "no use" would be wrong
        print(report.render(found, _FORMATS[arguments.format]), end="")
    return status or int(bool(found))


def _fail(text: str) -> int:
    print(f"tritonclient-shim scan: {text}", file=sys.stderr)
    return 2

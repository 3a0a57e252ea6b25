"""Print the migration guide, or a section of it or of the page on settings, or about an error.

Exit status: 0 printed, 1 there is no such section.
"""

from __future__ import annotations

import argparse
import difflib
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tritonclient-shim guide``."""
    add = parser.add_argument
    add("section", nargs="?", default=argparse.SUPPRESS, metavar="SECTION|ID|TEXT",
        help="a section, such as inference or settings, an id, such as TS051, or the text of an "
        "error; otherwise the whole guide")  # fmt: skip
    add("--list", action="store_true", default=argparse.SUPPRESS, help="name the sections")


def run(arguments: argparse.Namespace) -> int:
    """Print the guide, a section of it or the list of its sections → exit status."""
    from tritonclient_shim.cli import _sections
    from tritonclient_shim.cli._output import show

    found = _sections.sections()
    if "list" in arguments:
        lines = (f"{a:<50}  {'  ' * (one.level - 1)}{one.heading}\n" for a, one in found.items())
        show("".join(lines))
        return 0
    if "section" not in arguments:
        show(_sections.text())
        return 0
    anchor = _anchor(arguments.section)
    section = found.get(anchor) or _sections.of_error(arguments.section)
    if section:
        show(section.text)
        return 0
    near = difflib.get_close_matches(anchor, found, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "tritonclient-shim guide --list"
    print(
        f"tritonclient-shim guide: there is no section {arguments.section!r}; expected one of the "
        f"guide's, an id, or the text of an error: {hint}",
        file=sys.stderr,
    )
    return 1


def _anchor(what: str) -> str:
    """``Inference``, ``#inference``, ``migration_guide.md#inference`` or an id → an anchor."""
    from tritonclient_shim.registry import ENTRIES
    from tritonclient_shim.registry.entry import anchor_of

    if what.upper() in ENTRIES:
        return ENTRIES[what.upper()].anchor
    return anchor_of(what.rpartition("#")[2])

"""Print the migration guide, or a section of it.

A section is named by its heading, by an id, or by the text of an error; `settings` is the page on
settings. On a terminal a pager shows what is longer than the screen.

Exit status: 0 printed, 1 there is no such section.
"""

from __future__ import annotations

import argparse
import difflib
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim guide``."""
    add = parser.add_argument
    add("section", nargs="?", default=argparse.SUPPRESS, metavar="SECTION|ID|TEXT",
        help="a section, such as inference or settings, an id, such as TS051, or the text of an "
        "error; otherwise the whole guide")  # fmt: skip
    add("--list", action="store_true", default=argparse.SUPPRESS, help="name the sections")


def run(arguments: argparse.Namespace) -> int:
    """Print the guide, a section of it or the list of its sections → exit status."""
    from tritonclient_shim.cli import _guide
    from tritonclient_shim.cli._output import show_in_pages

    found = _guide.sections()
    if "list" in arguments:
        names = _guide.short_names(found)
        width = max(map(len, names))
        lines = (
            f"{name:<{width}}  {'  ' * (section.level - 1)}{section.heading}\n"
            for name, section in zip(names, found.values())
        )
        show_in_pages("".join(lines))
        return 0
    if "section" not in arguments:
        show_in_pages(_guide.text())
        return 0
    what = arguments.section
    anchor = _anchor(what)
    section = found.get(anchor) or _guide.of_name(anchor) or _guide.of_error(what)
    if section:
        show_in_pages(section.text)
        return 0
    near = difflib.get_close_matches(anchor, found, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "tritonclient-shim guide --list"
    print(
        f"tritonclient-shim guide: there is no section {what!r}; expected one of the "
        f"guide's, an id, or the text of an error: {hint}",
        file=sys.stderr,
    )
    return 1


def _anchor(what: str) -> str:
    """Return the anchor of ``Inference``, ``#inference``, ``page.md#inference`` or an id."""
    from tritonclient_shim.registry import ENTRIES
    from tritonclient_shim.registry.entry import anchor_of

    if what.upper() in ENTRIES:
        return ENTRIES[what.upper()].anchor
    return anchor_of(what.rpartition("#")[2])

"""Show the code that replaces one legacy symbol, on a screen.

The whole section about it, with what differs, is in `guide`.

Exit status: 0 explained, 1 one of the names is unknown.
"""

from __future__ import annotations

import argparse
from difflib import get_close_matches

from tritonclient_shim.cli import show, tell
from tritonclient_shim.cli._terminal import BOLD, painted, painted_headings
from tritonclient_shim.registry.entry import RegistryEntry

#: More entries than these are listed without code.
_MANY = 5
_EXPECTED = (
    "give an id, which notices, reports and `tritonclient-shim scan` show, or a symbol or part of "
    "one, such as InferContext.run"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim explain``."""
    parser.add_argument("what", nargs="+", metavar="ID|SYMBOL",
        help="an id such as TS051, or a symbol or part of one, such as InferContext.run or "
        "np.object")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Print every entry that fits, or else the section of the guide → exit status."""
    from tritonclient_shim.cli.guide import find_section, shown
    from tritonclient_shim.registry.search import find_entries

    status = 0
    for what in dict.fromkeys(arguments.what):
        entries = find_entries(what)
        if not entries:
            section = find_section(what)
            if section is None:
                tell("explain", f"nothing is called {what!r}; {_near(what)}{_EXPECTED}")
                status = 1
            else:
                show(f"{painted_headings(shown(section.text))}\n")
        elif len(entries) > _MANY:
            listed = "".join(f"{entry.id}  {entry.symbol}\n" for entry in entries)
            show(f"{listed}  give one of these ids for its code in v1 and now\n\n")
        else:
            show("".join(f"{_explained(entry)}\n" for entry in entries))
    return status


def _near(what: str) -> str:
    """Return a question with the symbols that are written almost so, '' without one."""
    from tritonclient_shim.registry import ENTRIES

    symbols = [entry.symbol.rpartition("tensorrtserver.api.")[2] for entry in ENTRIES.values()]
    names = get_close_matches(what, symbols, 3)
    return f"did you mean {', '.join(names)}? Otherwise " if names else ""


def _explained(entry: RegistryEntry) -> str:
    """Return the entry with the guide's code."""
    from tritonclient_shim.cli.guide import code_of

    return f"""\
{painted(f"{entry.id}  {entry.symbol}", BOLD)}
  deprecated since  {entry.since}
  on gRPC           {entry.grpc}
  over HTTP         {entry.http}
  with PyTriton     {entry.pytriton or "nothing takes its place"}
  in the guide      {entry.guide}
{code_of(entry)}"""

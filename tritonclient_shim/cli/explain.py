"""Tell what takes the place of a legacy symbol or usage pattern.

Exit status: 0 explained, 1 nothing of that name.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tritonclient_shim.registry.entry import RegistryEntry


_EXPECTED = (
    "give an id, which notices, reports and `tritonclient-shim scan` show, or a symbol or part "
    "of one, such as InferContext.run"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tritonclient-shim explain``."""
    parser.add_argument(
        "what",
        metavar="ID|SYMBOL",
        help="an id such as TS051, or a symbol or part of one, such as InferContext.run",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print every entry that fits → exit status."""
    from tritonclient_shim.registry import BY_SYMBOL

    found = _find(arguments.what)
    if found:
        print("\n".join(map(_explained, found)), end="")
        return 0
    names = [symbol.rpartition(".")[2] for symbol in BY_SYMBOL]
    near = difflib.get_close_matches(arguments.what.rpartition(".")[2], names, 3)
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else _EXPECTED
    print(
        f"tritonclient-shim explain: nothing is called {arguments.what!r}; {hint}", file=sys.stderr
    )
    return 1


def _find(what: str) -> list[RegistryEntry]:
    """The entry of this id or symbol, or else the entries whose symbol ends so or contains it."""
    from tritonclient_shim.registry import BY_SYMBOL, ENTRIES

    if what.upper() in ENTRIES:
        return [ENTRIES[what.upper()]]
    if what in BY_SYMBOL:
        return [BY_SYMBOL[what]]
    ending = [entry for entry in ENTRIES.values() if f".{entry.symbol}".endswith(f".{what}")]
    return ending or [entry for entry in ENTRIES.values() if what.lower() in entry.symbol.lower()]


def _explained(entry: RegistryEntry) -> str:
    lines = [
        f"{entry.id}  {entry.symbol}",
        f"  deprecated since  {entry.since}",
        f"  on gRPC           {entry.grpc}",
        f"  over HTTP         {entry.http}",
        f"  with PyTriton     {entry.pytriton or 'nothing takes its place'}",
        f"  migration         {'automatic' if entry.automatic else 'by hand'}",
        f"  before and after  {entry.guide}",
    ]
    return "\n".join([*lines, ""])

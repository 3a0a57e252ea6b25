"""Show what replaces a legacy symbol, with the code in v1 and now.

Exit status: 0 explained, 1 one of the names is unknown.
"""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING

from tritonclient_shim.cli import show, tell

if TYPE_CHECKING:
    from tritonclient_shim.registry.entry import RegistryEntry


_EXPECTED = (
    "give an id, which notices, reports and `tritonclient-shim scan` show, or a symbol or part "
    "of one, such as InferContext.run"
)
#: More entries than these are listed without code.
_MANY = 5
_NARROWER = "  give one of these ids for its code in v1 and now\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tritonclient-shim explain``."""
    parser.add_argument(
        "what",
        nargs="+",
        metavar="ID|SYMBOL",
        help="an id such as TS051, or a symbol or part of one, such as InferContext.run or "
        "np.object",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print every entry that fits → exit status."""
    status = 0
    for what in dict.fromkeys(arguments.what):
        entries = _find(what)
        if not entries:
            status = _unknown(what)
        elif len(entries) > _MANY:
            show("".join(f"{entry.id}  {entry.symbol}\n" for entry in entries) + f"{_NARROWER}\n")
        else:
            for entry in entries:
                show(f"{_explained(entry)}\n")
    return status


def _unknown(what: str) -> int:
    """Print that no entry has this name, and near names → exit status."""
    from tritonclient_shim.registry import BY_SYMBOL

    names = [symbol.rpartition(".")[2] for symbol in BY_SYMBOL]
    near = difflib.get_close_matches(what.rpartition(".")[2], names, 3)
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else _EXPECTED
    tell("explain", f"nothing is called {what!r}; {hint}")
    return 1


def _find(what: str) -> list[RegistryEntry]:
    """Return the entry of this id or symbol, or else the entries that fit, in this order.

    Their symbol ends so; it contains this; it ends with the last part, as in ``ctx.run``; this is
    a member of one that has no entries of its own, such as a constant of a message.
    """
    from tritonclient_shim.registry import BY_SYMBOL, ENTRIES

    what = what.strip().rstrip("()")
    if what.upper() in ENTRIES:
        return [ENTRIES[what.upper()]]
    if what in BY_SYMBOL or _is_removed_from_numpy(what):
        return [BY_SYMBOL.get(what, ENTRIES["TS201"])]
    owner, _, last = what.rpartition(".")
    entries = ENTRIES.values()
    ways = (
        lambda entry: _ends(entry.symbol, what),
        lambda entry: what.lower() in entry.symbol.lower(),
        lambda entry: owner.islower() and entry.counted and _ends(entry.symbol, last),
        lambda entry: owner and not entry.counted and _ends(entry.symbol, owner),
    )
    return next((fit for fit in (list(filter(way, entries)) for way in ways) if fit), [])


def _ends(symbol: str, what: str) -> bool:
    return f".{symbol}".endswith(f".{what}")


def _is_removed_from_numpy(what: str) -> bool:
    module, _, name = what.rpartition(".")
    if module not in ("np", "numpy"):
        return False
    from tritonclient_shim.registry.patterns import REMOVED_FROM_NUMPY

    return name in REMOVED_FROM_NUMPY


def _explained(entry: RegistryEntry) -> str:
    """Return the entry with the guide's code."""
    from tritonclient_shim.cli.guide import code_of

    lines = [
        f"{entry.id}  {entry.symbol}",
        f"  deprecated since  {entry.since}",
        f"  on gRPC           {entry.grpc}",
        f"  over HTTP         {entry.http}",
        f"  with PyTriton     {entry.pytriton or 'nothing takes its place'}",
        f"  in the guide      {entry.guide}",
        code_of(entry),
    ]
    return "\n".join(lines)

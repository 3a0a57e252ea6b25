"""Show what replaces a legacy symbol, before and now.

Exit status: 0 explained, 1 nothing of one of the names.
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
#: Entries that one word may fit and still be shown with code.
_MANY = 5
_NARROWER = "  give one of these ids for what takes its place, before and now\n"


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
    from tritonclient_shim.cli._output import show

    status = 0
    shown: dict[str, str] = {}
    for what in dict.fromkeys(arguments.what):
        found = _find(what)
        if not found:
            status = _unknown(what)
        elif len(found) > _MANY:
            show("".join(f"{entry.id}  {entry.symbol}\n" for entry in found) + f"{_NARROWER}\n")
        else:
            for entry in found:
                show(f"{_explained(entry)}{_before_and_now(entry, shown)}\n")
    return status


def _unknown(what: str) -> int:
    """Say that there is nothing of this name, and what is near → exit status."""
    from tritonclient_shim.registry import BY_SYMBOL

    names = [symbol.rpartition(".")[2] for symbol in BY_SYMBOL]
    near = difflib.get_close_matches(what.rpartition(".")[2], names, 3)
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else _EXPECTED
    print(f"tritonclient-shim explain: nothing is called {what!r}; {hint}", file=sys.stderr)
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


def _before_and_now(entry: RegistryEntry, shown: dict[str, str]) -> str:
    """Return the guide's code for the entry, or the id that it was ``shown`` with before."""
    from tritonclient_shim.cli import _guide

    pair = _guide.pair_of(entry)
    text = pair.text if pair else "\n" + _guide.sections()[entry.anchor].text
    earlier = shown.setdefault(text, entry.id)
    return text if earlier == entry.id else f"  before and now    as shown with {earlier}\n"


def _explained(entry: RegistryEntry) -> str:
    lines = [
        f"{entry.id}  {entry.symbol}",
        f"  deprecated since  {entry.since}",
        f"  on gRPC           {entry.grpc}",
        f"  over HTTP         {entry.http}",
        f"  with PyTriton     {entry.pytriton or 'nothing takes its place'}",
        f"  in the guide      {entry.guide}",
    ]
    return "\n".join([*lines, ""])

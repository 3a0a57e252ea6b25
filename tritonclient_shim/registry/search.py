"""The entries that a person means by an id, a symbol or a part of one."""

from __future__ import annotations

from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.registry.entry import RegistryEntry
from tritonclient_shim.registry.patterns import REMOVED_FROM_NUMPY


def find_entries(what: str) -> list[RegistryEntry]:
    """Return the entry of an id, or else the entries whose symbols fit a text.

    Symbols that end with the text come before symbols that only contain it. If there are none,
    symbols that end with the last part of the text fit, as for ``ctx.run``.
    """
    what = what.strip().rstrip("()")
    owner, _, last = what.rpartition(".")
    if what.upper() in ENTRIES:
        return [ENTRIES[what.upper()]]
    if owner in ("np", "numpy") and last in REMOVED_FROM_NUMPY:
        return [ENTRIES["TS201"]]
    entries = ENTRIES.values()
    ending = [entry for entry in entries if _ends(entry.symbol, what)]
    if ending:
        return ending
    containing = [entry for entry in entries if what.lower() in entry.symbol.lower()]
    if containing:
        return containing
    if owner.islower():
        return [entry for entry in entries if _ends(entry.symbol, last)]
    return []


def _ends(symbol: str, what: str) -> bool:
    """True if a symbol ends with these whole parts."""
    return f".{symbol}".endswith(f".{what}")

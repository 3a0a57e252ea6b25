"""Every legacy symbol and usage pattern, by id: data only.

Notices, the usage report, ``scan``, ``explain`` and the guide's tables all read this; nothing
else says what replaces what. An id never changes its meaning and is never reused.
"""

from __future__ import annotations

from tritonclient_shim.registry import patterns, symbols
from tritonclient_shim.registry.entry import RegistryEntry

#: id → entry, in the order of the ids.
ENTRIES: dict[str, RegistryEntry] = {
    entry.id: entry
    for entry in sorted((*patterns.ENTRIES, *symbols.ENTRIES), key=lambda entry: entry.id)
}

#: Dotted symbol → entry. For ``async_run`` it is the style of 1.8 and later (TS052).
BY_SYMBOL: dict[str, RegistryEntry] = {entry.symbol: entry for entry in ENTRIES.values()}

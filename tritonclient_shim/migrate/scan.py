"""Parsed source → its legacy uses, as rows of the usage report."""

from __future__ import annotations

from tritonclient_shim.migrate.sites import Site, evaluated, sites
from tritonclient_shim.migrate.sources import ParsedSource
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.usage.rows import UsageRow, relative


def scan(source: ParsedSource) -> list[UsageRow]:
    """Return every legacy use in the source, each once per line, in the order of lines."""
    uses = once_per_line(source, sites(source, evaluated(source)))
    return [row(source, *item) for item in sorted(uses)]


def once_per_line(source: ParsedSource, uses: list[Site]) -> set[tuple[int, int, str]]:
    """Return line, column and id of each use, where the line has it first."""
    first: dict[tuple[int, str], int] = {}
    for site in uses:
        key = (site.line, site.id)
        first[key] = min(site.offset, first.get(key, site.offset))
    kept = {(line, source.column(line, at), id) for (line, id), at in first.items()}
    kept.update((line, source.async_column(line), "TS202") for line in source.async_lines)
    return kept


def row(source: ParsedSource, line: int, column: int, id: str) -> UsageRow:
    """Return the row of a use."""
    cell, number = source.place(line)
    path, text = relative(source.path), source.snippet(line)
    return UsageRow(ENTRIES[id], path, number, cell=cell, column=column, snippet=text)

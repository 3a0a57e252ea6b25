"""Counted uses → rows of a report: what, where, how often, and what takes its place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Mapping

from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.registry.entry import RegistryEntry
from tritonclient_shim.usage import Use


@dataclass(frozen=True)
class UsageRow:
    """One legacy use at one line. ``count`` is None where nothing ran (``scan``)."""

    entry: RegistryEntry
    file: str
    line: int
    count: int | None = None
    cell: int | None = None  # of a notebook, from 1
    file_line: int | None = None  # of a notebook: the line of its JSON
    column: int | None = None  # from 1; None for a program that ran, which has lines only
    snippet: str = ""  # the line of the source, where it was read
    rewritable: bool | None = None  # True if `migrate` rewrites it; None where that is not known

    options: str = ""  # by which `migrate` rewrites it

    @property
    def place(self) -> str:
        """Return ``file:line``, ``file:line:column``, or ``file:cell 3:line:column``."""
        cell = "" if self.cell is None else f"cell {self.cell}:"
        column = "" if self.column is None else f":{self.column}"
        return f"{self.file}:{cell}{self.line}{column}"

    @property
    def how(self) -> str:
        """Return what ``migrate`` does, and with which options; '' if that is unknown."""
        if self.rewritable is None:
            return ""
        if not self.rewritable:
            return "by hand"
        return f"automatic with {self.options}" if self.options else "automatic"

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON."""
        entry = self.entry
        document: dict[str, Any] = {
            "id": entry.id,
            "symbol": entry.symbol,
            "file": self.file,
            "line": self.line,
            "count": self.count,
            "since": entry.since,
            "successors": {"grpc": entry.grpc, "http": entry.http, "pytriton": entry.pytriton},
            "automatic": self.rewritable,
            "options": self.options,
            "guide": entry.guide,
        }
        if self.cell is not None:
            document["cell"] = self.cell
        if self.column is not None:
            document.update(column=self.column, snippet=self.snippet)
        return document


def rows_of(counts: Mapping[Use, int]) -> list[UsageRow]:
    """Return the rows of a recorder's counts."""
    return [
        UsageRow(ENTRIES[use.id], relative(use.file), use.line, count)
        for use, count in counts.items()
    ]


def relative(path: str) -> str:
    """Return the path from the working directory if it lies below it, else the path."""
    here = os.getcwd() + os.sep
    return path[len(here) :] if path.startswith(here) else path


def grouped(rows: list[UsageRow]) -> list[list[UsageRow]]:
    """Return the rows of each id together, ids in order."""
    ordered = sorted(rows, key=lambda row: row.entry.id)
    return [list(group) for _, group in groupby(ordered, key=lambda row: row.entry.id)]


def summary(rows: list[UsageRow]) -> str:
    """Return how many uses there are and, if that is known, how many ``migrate`` rewrites."""
    if not rows:
        return "No use of the legacy API."
    symbols = len({row.entry.id for row in rows})
    places = "1 place uses" if len(rows) == 1 else f"{len(rows)} places use"
    what = f"{symbols} legacy symbols and usage patterns"
    if symbols == 1:
        what = "1 legacy symbol or usage pattern"
    if any(row.rewritable is None for row in rows):
        return f"{places} {what}."
    automatic = [row.options for row in rows if row.rewritable]
    command = f"tritonclient-shim migrate {max(automatic, key=len, default='')}".rstrip()
    return f"{places} {what}; `{command}` rewrites {len(automatic)} of them."

"""What files keep of v1, which other files of their program have to know."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Iterable, Mapping

from tritonclient_shim.migrate.flows import CONTEXTS
from tritonclient_shim.migrate.program_file import ASYNCHRONOUS, LEGACY, ProgramFile, name_of
from tritonclient_shim.registry.entry import IMPORT
from tritonclient_shim.scan.imports import API

if TYPE_CHECKING:
    from tritonclient_shim.migrate.options import SiteOutcome
    from tritonclient_shim.usage.rows import UsageRow

_REQUESTS = re.compile(rb"InferContext|SharedMemoryControlContext")
_SENDERS = (f"{API}.InferContext", f"{API}.SharedMemoryControlContext")
_MEMORY = ("tensorrtserver.shared_memory", "tensorrtserver.cuda_shared_memory")
_ERROR = f"{API}.InferenceServerException"


class Keeps(Enum):
    """What a file keeps of v1 that other files may give it, or get from it.

    HANDED: contexts for requests that other files make or get.
    """

    CONTEXTS = "contexts or protocols"
    REQUESTS = "contexts, regions or formats"
    HANDED = "contexts"
    ERRORS = "exception"
    REGIONS = "regions"


#: What the text of a file has if it keeps all that it has of v1.
_MARKS = {
    Keeps.CONTEXTS: LEGACY,
    Keeps.REQUESTS: _REQUESTS,
    Keeps.HANDED: re.compile(_REQUESTS.pattern + b"|" + ASYNCHRONOUS.pattern),
    Keeps.ERRORS: re.compile(b"InferenceServerException"),
    Keeps.REGIONS: re.compile(b"shared_memory"),
}
#: The same for a file that has v1's names from other files.
_MARKS_OF_NAMES = {Keeps.CONTEXTS: LEGACY, Keeps.REQUESTS: _REQUESTS, Keeps.HANDED: _REQUESTS}


def all_kept(file: ProgramFile) -> dict[Keeps, str]:
    """Return what a file has of v1, each with its first place."""
    return _marked(file, _MARKS) if file.may_use_v1 else {}


def indirectly_kept(file: ProgramFile) -> dict[Keeps, str]:
    """Return what a file keeps that has v1's names from other files, each with its first place."""
    return _marked(file, _MARKS_OF_NAMES)


def _marked(file: ProgramFile, marks: Mapping[Keeps, re.Pattern[bytes]]) -> dict[Keeps, str]:
    """Return what a file keeps, by marks in its text, each with its first place."""
    found = {keeps: mark for keeps, mark in marks.items() if mark.search(file.text)}
    return {keeps: file.place(mark) for keeps, mark in found.items()}


def keeps_of(
    uses: Iterable[tuple[UsageRow, SiteOutcome]], keeps_handed: bool
) -> Mapping[Keeps, str]:
    """Return what a file keeps of v1, each with its place, by the outcomes of its uses.

    ``keeps_handed``: contexts for requests that are kept may be those of other files.
    """
    starts = {
        Keeps.CONTEXTS: (*CONTEXTS, f"{API}.ProtocolType"),
        Keeps.REQUESTS: _SENDERS,
        Keeps.HANDED: _SENDERS if keeps_handed else (),
        Keeps.REGIONS: _MEMORY,
        Keeps.ERRORS: (_ERROR,),
    }
    keeps: dict[Keeps, str] = {}
    causes_first = sorted(uses, key=lambda use: use[1].what.startswith("stays because"))
    for row, outcome in causes_first:
        is_left = outcome.todo and row.entry.kind != IMPORT
        for kind, names in starts.items():
            if is_left and row.entry.symbol.startswith(names):
                keeps.setdefault(kind, _place_of(row))
    return keeps


def _place_of(row: UsageRow) -> str:
    """Return the name of a use's line, for reasons in other files."""
    cell = f"cell {row.cell}, " if row.cell else ""
    return f"{name_of(row.file)}, {cell}line {row.line},"

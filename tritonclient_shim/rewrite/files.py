"""The bytes of a source → its migrated bytes, and what was done."""

from __future__ import annotations

import io
import os
import tokenize
from dataclasses import dataclass
from typing import List, Mapping, Tuple

import libcst as cst

from tritonclient_shim.migrate import sources
from tritonclient_shim.migrate.async_names import restored
from tritonclient_shim.migrate.async_names import rewritten as without_async
from tritonclient_shim.migrate.scan import once_per_line, row
from tritonclient_shim.migrate.sites import Site, evaluated, sites
from tritonclient_shim.migrate.sources import ParsedSource, Unreadable
from tritonclient_shim.rewrite import program
from tritonclient_shim.rewrite.draft import Cells
from tritonclient_shim.rewrite.emitted import helper_file
from tritonclient_shim.rewrite.header import FileHeader
from tritonclient_shim.rewrite.neighbours import Neighbours
from tritonclient_shim.rewrite.notebooks import Notebook
from tritonclient_shim.rewrite.options import MigrateOptions, SiteOutcome, State
from tritonclient_shim.usage.rows import UsageRow

_Uses = List[Tuple[UsageRow, SiteOutcome]]


@dataclass(frozen=True)
class Migrated:
    """A file before and after, and each of its uses with what became of it."""

    path: str
    before: bytes
    after: bytes
    uses: _Uses
    helpers: frozenset[str] = frozenset()  # what the file imports from the module beside it
    is_new: bool = False  # the module itself, which no one asked to migrate

    @property
    def changed(self) -> bool:
        """True if there is anything to write."""
        return self.before != self.after

    @property
    def todo(self) -> bool:
        """True if a legacy use is left."""
        return any(outcome.todo for _, outcome in self.uses)


def migrate(
    path: str, data: bytes, options: MigrateOptions, texts: Mapping[str, bytes] | None = None
) -> Migrated:
    """Rewrite a file. Raise Unreadable if it cannot be parsed.

    ``texts``: absolute path → the new text of a file that is to be written.
    """
    source = sources.parsed(path, data)
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    text = data.decode("utf-8" if path.endswith(".ipynb") else encoding)
    notebook = Notebook(text) if path.endswith(".ipynb") else None
    old = notebook.sources() if notebook else [without_async(text)[0]]
    try:
        with sources.not_too_deep(path):
            new, uses, helpers = _cells(source, old, options, Neighbours(path, texts or {}))
    except cst.ParserSyntaxError as error:
        raise Unreadable(f"{path}: line {error.raw_line}: {error.message}") from error
    if new == old:
        return Migrated(path, data, data, uses)
    cells = [restored(item) for item in new]
    after = notebook.changed(cells) if notebook else cells[0]
    return Migrated(path, data, after.encode(encoding), uses, helpers)


def with_helpers(done: list[Migrated]) -> list[Migrated]:
    """Return the modules that migrated files import their functions from, as far as they change."""
    wanted: dict[str, set[str]] = {}
    for element in done:
        if element.helpers:
            wanted.setdefault(os.path.dirname(element.path), set()).update(element.helpers)
    files = (helper_file(folder, names) for folder, names in wanted.items())
    modules = (Migrated(*file, [], is_new=True) for file in files)
    return [item for item in modules if item.changed]


def rewritable(source: ParsedSource) -> dict[tuple[str, str], bool]:
    """Return place and id of each use: True if it is rewritten, safely or not."""
    try:
        whole, beside = ["\n".join(source.lines)], Neighbours(source.path, {})
        uses = _cells(source, whole, MigrateOptions(unsafe=True), beside)[1]
    except cst.ParserSyntaxError:
        return {}
    return {(row.place, row.entry.id): not outcome.todo for row, outcome in uses}


def _cells(
    source: ParsedSource, old: list[str], options: MigrateOptions, beside: Neighbours
) -> tuple[list[str], _Uses, frozenset[str]]:
    """Rewrite the cells of a notebook, or the one of a file."""
    if not sites(source, evaluated(source)):
        return old, [], frozenset()  # without a syntax tree of libcst, which takes most of the time
    cells = _parsed(old)
    outcomes, draft = program.rewritten(source, cells, options, beside)
    if not draft.edits.any and not any(site.id in program.IMPORTS for site in outcomes):
        return old, _uses(source, outcomes), frozenset()
    body = sources.of_cells(source.path, [draft.edits.made(module).code for _, module in cells])
    header = FileHeader(draft, body.tree)
    header.rewrite()
    new = [draft.edits.made(module).code for _, module in cells]
    return new, _uses(source, program.with_imports(outcomes, header)), header.helpers


def _parsed(texts: list[str]) -> Cells:
    """Return the modules of cells, each with the number of lines before it."""
    cells: Cells = []
    lines = 0
    for text in texts:
        cells.append((lines, cst.parse_module(text)))
        lines += len(text.split("\n"))
    return cells


def _uses(source: ParsedSource, outcomes: dict[Site, SiteOutcome]) -> _Uses:
    """Return a row for each line and id, with the worst of what became of it there."""
    worst: dict[tuple[int, str], SiteOutcome] = {}
    order = list(State)
    for site, outcome in outcomes.items():
        key = (site.line, site.id)
        if key not in worst or order.index(outcome.state) > order.index(worst[key].state):
            worst[key] = outcome
    rest = SiteOutcome(State.TODO, "no rule rewrites it")
    places = sorted(once_per_line(source, list(outcomes)))
    return [(row(source, *item), worst.get((item[0], item[2]), rest)) for item in places]

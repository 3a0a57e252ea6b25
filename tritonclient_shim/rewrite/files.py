"""The bytes of a source → its migrated bytes, and what was done."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass
from typing import List, Tuple

import libcst as cst

from tritonclient_shim.migrate import sources
from tritonclient_shim.migrate.async_names import restored
from tritonclient_shim.migrate.async_names import rewritten as without_async
from tritonclient_shim.migrate.scan import once_per_line, row
from tritonclient_shim.migrate.sites import Site, evaluated, sites
from tritonclient_shim.migrate.sources import ParsedSource, Unreadable
from tritonclient_shim.rewrite import program
from tritonclient_shim.rewrite.draft import Cells, Draft
from tritonclient_shim.rewrite.header import FileHeader
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

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after

    @property
    def todo(self) -> bool:
        """Whether a legacy use is left."""
        return any(outcome.todo for _, outcome in self.uses)


def migrate(path: str, data: bytes, options: MigrateOptions) -> Migrated:
    """Rewrite a file; Unreadable where it cannot be parsed."""
    source = sources.parsed(path, data)
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    text = data.decode(encoding)
    try:
        new, uses = _text(source, text, options)
    except cst.ParserSyntaxError as error:
        raise Unreadable(f"{path}: line {error.raw_line}: {error.message}") from error
    return Migrated(path, data, new.encode(encoding), uses)


def _text(source: ParsedSource, text: str, options: MigrateOptions) -> tuple[str, _Uses]:
    cells: Cells = [(0, cst.parse_module(without_async(text)[0]))]
    modules, found, draft = program.rewritten(source, cells, options)
    if not draft.edits.any and not any(site.id in program.IMPORTS for site in found):
        return text, _uses(source, found)
    code = "".join(module.code for module in modules)
    after = sources.parsed(source.path, code.encode())
    module = cst.parse_module(code)
    second = Draft(after, [(0, module)], options)
    FileHeader(second, draft).rewrite()
    new = restored(second.edits.made(module).code)
    return new, _uses(source, program.with_imports(found, left_in(source.path, new)))


def left_in(path: str, text: str) -> set[str]:
    """The ids of the legacy uses that a text has."""
    source = sources.parsed(path, text.encode())
    return {site.id for site in sites(source, evaluated(source))}


def _uses(source: ParsedSource, found: dict[Site, SiteOutcome]) -> _Uses:
    """A row for each line and id, with the worst of what became of it there."""
    worst: dict[tuple[int, str], SiteOutcome] = {}
    order = list(State)
    for site, outcome in found.items():
        key = (site.line, site.id)
        if key not in worst or order.index(outcome.state) > order.index(worst[key].state):
            worst[key] = outcome
    rest = SiteOutcome(State.TODO, "no rule rewrites it")
    places = sorted(once_per_line(source, list(found)))
    return [(row(source, *one), worst.get((one[0], one[2]), rest)) for one in places]

"""Migrate the bytes of a source, and report the outcome of each use."""

from __future__ import annotations

import ast
import io
import os
import tokenize
from dataclasses import dataclass, replace
from typing import List, Mapping, Tuple

from tritonclient_shim.migrate import sources
from tritonclient_shim.migrate.sites import Site
from tritonclient_shim.migrate.sources import ParsedSource, restored
from tritonclient_shim.migrate.sources import rewritten as without_async
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.rewrite import groups
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.emitted import helper_file
from tritonclient_shim.rewrite.header import FileHeader
from tritonclient_shim.rewrite.neighbours import Neighbours
from tritonclient_shim.rewrite.options import (
    NOT_SELECTED,
    MigrateOptions,
    Refused,
    SiteOutcome,
    State,
)
from tritonclient_shim.rewrite.rules import BY_HAND, LOOSE, stub
from tritonclient_shim.rewrite.rules.plan import carry_out, checked
from tritonclient_shim.usage.rows import UsageRow, relative

_NOTEBOOK = "move the code to a module: migrate rewrites no notebooks"
_NO_RULE = "write it anew: the guide has its successor"
#: Ids of imports. They are decided after everything else.
IMPORTS = frozenset(f"TS00{number}" for number in range(1, 10))

_Uses = List[Tuple[UsageRow, SiteOutcome]]


@dataclass(frozen=True)
class Migrated:
    """A file before and after migration, and its uses with their outcomes."""

    path: str
    before: bytes
    after: bytes
    uses: _Uses
    helpers: frozenset[str] = frozenset()  # names that the file imports from the module beside it
    protocols: frozenset[str] = frozenset()  # of the clients that the file makes
    is_new: bool = False  # the module of helpers, not a file of the user

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

    ``texts``: absolute path → the new text of a file.
    """
    source = sources.parsed(path, data)
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    text = without_async(data.decode(encoding))[0]
    with sources.not_too_deep(path):
        new, uses, header = _migrated(source, text, options, Neighbours(path, texts or {}))
    if header is None:
        return Migrated(path, data, data, uses)
    after = restored(new).encode(encoding)
    return Migrated(path, data, after, uses, header.helpers, header.protocols)


def with_helpers(done: list[Migrated]) -> list[Migrated]:
    """Return the changed modules of helpers that migrated files import."""
    folders: dict[str, list[Migrated]] = {}
    for element in done:
        if element.helpers:
            folders.setdefault(os.path.dirname(element.path), []).append(element)
    files = (
        helper_file(
            folder,
            {name for item in items for name in item.helpers},
            {name for item in items for name in item.protocols} == {"grpc"},
        )
        for folder, items in folders.items()
    )
    modules = (Migrated(*file, [], is_new=True) for file in files)
    return [item for item in modules if item.changed]


def scan(source: ParsedSource) -> list[UsageRow]:
    """Return every legacy use, once per line. Mark those that ``migrate --unsafe`` rewrites."""
    text, beside = "\n".join(source.lines), Neighbours(source.path, {})
    uses = _migrated(source, text, MigrateOptions(unsafe=True), beside)[1]
    return [replace(row, rewritable=not outcome.todo) for row, outcome in uses]


def _migrated(
    source: ParsedSource, text: str, options: MigrateOptions, beside: Neighbours
) -> tuple[str, _Uses, FileHeader | None]:
    """Return the rewritten text, its uses, and its imports; None for these if nothing changes."""
    draft = Draft(source, text, options, beside)
    if not draft.evaluator.imports.uses_v1:
        return text, [], None
    if source.path.endswith(".ipynb"):
        by_hand = SiteOutcome(State.TODO, _NOTEBOOK)
        return text, _uses(source, dict.fromkeys(draft.sites, by_hand)), None
    outcomes = _rewrite(draft)
    if not draft.edits.any and not any(site.id in IMPORTS for site in outcomes):
        return text, _uses(source, outcomes), None
    header = FileHeader(draft, ast.parse(draft.edits.changed() + "\n"))
    header.rewrite()
    uses = _uses(source, _with_imports(outcomes, header))
    new = draft.edits.changed()
    return new, uses, header if new != text else None


def _rewrite(draft: Draft) -> dict[Site, SiteOutcome]:
    """Rewrite everything but the imports. Return the outcome of each use."""
    stub.rewrite(draft)
    groups.rewrite(draft)
    _loose(draft)
    outcomes = {site: _outcome(site, draft) for site in draft.sites}
    _comment(outcomes, draft)
    return outcomes


def _outcome(site: Site, draft: Draft) -> SiteOutcome:
    known = draft.outcome(site)
    if known is None and site.id in IMPORTS:
        return SiteOutcome(State.SAFE, "import")
    reason = BY_HAND.get(site.id, _NO_RULE)
    return known or SiteOutcome(State.TODO, reason, comment=True)


def _loose(draft: Draft) -> None:
    """Rewrite uses without an object: exceptions, constants, leftovers of NumPy and Python."""
    for site in draft.sites:
        rule = LOOSE.get(site.id)
        if rule is None or draft.outcome(site):
            continue
        node = site.whole
        try:
            if not draft.options.selects(site.id):
                raise Refused(NOT_SELECTED, by_option=True)
            carry_out(checked(rule(node, draft), node, draft), node, draft)
        except Refused as refused:
            draft.refuse(node, refused)


def _comment(outcomes: dict[Site, SiteOutcome], draft: Draft) -> None:
    """Add a comment with work to do above each statement with a use that stays."""
    ids: dict[tuple[ast.stmt, str], list[str]] = {}
    for site, outcome in outcomes.items():
        if outcome.state is State.TODO and outcome.comment:
            same = ids.setdefault((draft.edits.statement(site.whole), outcome.what), [])
            same += [site.id] if site.id not in same else []
    for (statement, what), own in ids.items():
        text = f"# TODO({', '.join(own)}): {what} ({ENTRIES[own[0]].guide})"
        draft.edits.comments[statement].append(text)


def _with_imports(outcomes: dict[Site, SiteOutcome], header: FileHeader) -> dict[Site, SiteOutcome]:
    """Return the outcomes. Imports that the rewritten file still has become TODO."""
    stays = SiteOutcome(State.TODO, "stays for the uses that stay")
    left = {
        site: stays
        for site, outcome in outcomes.items()
        if site.id in IMPORTS and outcome.what == "import" and header.stays(site)
    }
    return {**outcomes, **left}


def _uses(source: ParsedSource, outcomes: dict[Site, SiteOutcome]) -> _Uses:
    """Return a row for each line and id, with its worst outcome."""
    places: dict[tuple[int, str], int] = {}
    worst: dict[tuple[int, str], SiteOutcome] = {}
    order = list(State)
    for site, outcome in outcomes.items():
        key, column = (site.line, site.id), source.column(site.line, site.offset)
        places[key] = min(column, places.get(key, column))
        if key not in worst or order.index(outcome.state) > order.index(worst[key].state):
            worst[key] = outcome
    rest = SiteOutcome(State.TODO, _NO_RULE)
    places.update({(line, "TS202"): column for line, column in reversed(source.async_names)})
    return [
        (_row(source, line, column, id), worst.get((line, id), rest))
        for (line, id), column in sorted(
            places.items(), key=lambda item: (item[0][0], item[1], item[0][1])
        )
    ]


def _row(source: ParsedSource, line: int, column: int, id: str) -> UsageRow:
    cell, number = source.place(line)
    path, text = relative(source.path), source.snippet(line)
    return UsageRow(ENTRIES[id], path, number, cell=cell, column=column, snippet=text)

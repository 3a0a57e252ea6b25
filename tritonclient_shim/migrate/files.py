"""Migrate the bytes of a source, and report the outcome of each use."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import List, Tuple

from tritonclient_shim.migrate import groups, notebooks
from tritonclient_shim.migrate.builtin_names import other_builtins
from tritonclient_shim.migrate.draft import Draft
from tritonclient_shim.migrate.format import with_short_lines
from tritonclient_shim.migrate.header import FileHeader
from tritonclient_shim.migrate.notebooks import is_notebook, with_cells
from tritonclient_shim.migrate.options import (
    MigrateOptions,
    Refused,
    SiteOutcome,
    State,
    carry_out,
    planned,
)
from tritonclient_shim.migrate.program import Keeps, Program, keeps_of
from tritonclient_shim.migrate.rules import BY_HAND, IMPORTS, LOOSE, stub
from tritonclient_shim.migrate.unused import remove_unused
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.scan import sites, sources
from tritonclient_shim.scan.evaluator import Evaluator
from tritonclient_shim.scan.imports import Imports
from tritonclient_shim.scan.sites import Site
from tritonclient_shim.scan.sources import ParsedSource, restored
from tritonclient_shim.scan.sources import rewritten as without_async
from tritonclient_shim.usage.rows import UsageRow, relative

_NO_RULE = "write it anew: the guide has its successor"
_IMPORT = SiteOutcome(State.SAFE, "import")
#: Ids of uses that can stay alone. Other uses need each other.
_ALONE = ("TS201",)
_STAYS = SiteOutcome(State.TODO, "stays for the uses that stay")
#: Options of the command → the same for the rules; few options first.
_OPTIONS = {
    "": MigrateOptions(),
    "--unsafe": MigrateOptions(unsafe=True),
}
_Uses = List[Tuple[UsageRow, SiteOutcome]]


@dataclass(frozen=True)
class Migrated:
    """A file before and after migration, and its uses with their outcomes."""

    path: str
    before: bytes
    after: bytes
    uses: _Uses = field(default_factory=list)
    helpers: frozenset[str] = frozenset()  # the functions that its uses call
    keeps: frozenset[Keeps] = frozenset()  # of v1, for other files of its program

    @property
    def changed(self) -> bool:
        """True if there is anything to write."""
        return self.before != self.after

    @property
    def todo(self) -> bool:
        """True if a legacy use is left."""
        return any(outcome.todo for _, outcome in self.uses)


def migrate(
    path: str, data: bytes, options: MigrateOptions, program: Program | None = None
) -> Migrated:
    """Rewrite a file. Raise Unreadable if it cannot be parsed.

    ``program``: its files; without it, the file alone is migrated.
    """
    source = sources.parsed(path, data)
    if not Imports(source.tree, path).uses_v1:  # so the other files do not matter
        return Migrated(path, data, data)
    encoding = "utf-8"
    if is_notebook(source):
        text = notebooks.text_of(source)
    else:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        text = without_async(data.decode(encoding))[0]
    with sources.not_too_deep(path):
        beside = (program or Program([path])).beside(path)
        draft = Draft(source, text, options, beside)
        uses, changed = _rewritten(draft)
        new = restored(with_short_lines(changed, text))
    after = data
    if changed != text:
        is_file = not is_notebook(source)
        after = new.encode(encoding) if is_file else with_cells(source, data, new)
    keeps = keeps_of(draft, uses) if beside.linked else frozenset()
    return Migrated(path, data, after, uses, frozenset(draft.helpers), keeps)


def scan(source: ParsedSource, program: Program | None = None) -> list[UsageRow]:
    """Return every legacy use, once per line, with the options by which ``migrate`` rewrites it.

    ``program``: its files; without it, all files beside the source will be migrated.
    """
    if not Imports(source.tree, source.path).uses_v1:  # so the other files do not matter
        return []
    beside = (program or Program([source.path], is_whole=True)).beside(source.path)
    rows: list[UsageRow] = []
    options_of: dict[int, str] = {}  # index of a row → the fewest options that rewrite it
    text = notebooks.text_of(source)
    for words, options in _OPTIONS.items():
        uses, _ = _rewritten(Draft(source, text, options, beside))
        rows = [row for row, _ in uses]
        for number, (_, outcome) in enumerate(uses):
            if not outcome.todo:
                options_of.setdefault(number, words)
        if len(options_of) == len(rows):
            break
    return [
        replace(row, rewritable=number in options_of, options=options_of.get(number, ""))
        for number, row in enumerate(rows)
    ]


def scan_without_rules(source: ParsedSource) -> list[UsageRow]:
    """Return every legacy use, once per line, for a source that makes the rules fail."""
    found = sites.sites(Evaluator(source))
    outcome = SiteOutcome(State.TODO, _NO_RULE)
    return [row for row, _ in _uses(source, dict.fromkeys(found, outcome))]


def _rewritten(draft: Draft) -> tuple[_Uses, str]:
    """Rewrite a file → its uses, and its new text."""
    reason = _reason_to_stay(draft)
    if reason:
        return _kept(draft, reason)
    for site in draft.sites:
        if _is_ignored(site, draft):
            draft.todo(site.whole, "`# tritonshim: ignore`", comment=False)
    stub.rewrite(draft)
    groups.rewrite(draft)
    _loose(draft)
    outcomes = {site: draft.outcome(site) or _undecided(site) for site in draft.sites}
    _comment(outcomes, draft)
    remove_unused(draft)
    header = FileHeader(draft)
    header.rewrite()
    imports = [site for site, outcome in outcomes.items() if outcome == _IMPORT]
    outcomes.update((site, _STAYS) for site in imports if header.stays(site))
    changed = draft.edits.changed()
    damage = notebooks.damage(draft.source, restored(changed))
    damage = damage or other_builtins(draft, changed, header.definitions)
    return _kept(draft, damage) if damage else (_uses(draft.source, outcomes), changed)


def _kept(draft: Draft, reason: str) -> tuple[_Uses, str]:
    """Return the uses of a file that stays, and its text."""
    outcome = SiteOutcome(State.TODO, reason)
    return _uses(draft.source, dict.fromkeys(draft.sites, outcome)), draft.text_before


def _reason_to_stay(draft: Draft) -> str:
    """Return why all uses of a file stay; '' if rules decide."""
    for site in draft.sites:
        place = draft.source.place(site.node.lineno)
        if site.id in IMPORTS and isinstance(site.node, ast.Call):
            return f"{place} imports by a call; import v1 by a statement"
        if site.id not in _ALONE and _is_ignored(site, draft):
            return f"{place} has `# tritonshim: ignore`; the file stays for it"
    for call in draft.evaluator.scopes.calls:
        is_run = isinstance(call.func, ast.Name) and call.func.id in ("eval", "exec")
        parts = [part for argument in call.args for part in ast.walk(argument)]
        if is_run and any(isinstance(part, ast.Constant) for part in parts):
            place = draft.source.place(call.lineno)
            return f"{place} runs a text as code, which may use v1; write it as code"
    return notebooks.reason_to_stay(draft) if is_notebook(draft.source) else ""


def _is_ignored(site: Site, draft: Draft) -> bool:
    """True if a comment hides a use."""
    return sources.is_ignored(draft.source.lines[site.node.lineno - 1], site.id)


def _undecided(site: Site) -> SiteOutcome:
    """Return the outcome of a use that no rule has decided."""
    if site.id in IMPORTS:
        return _IMPORT
    return SiteOutcome(State.TODO, BY_HAND.get(site.id, _NO_RULE), comment=True)


def _loose(draft: Draft) -> None:
    """Rewrite uses without an object: exceptions, constants, leftovers of NumPy and Python."""
    for site in draft.sites:
        rule = LOOSE.get(site.id)
        if rule is None or draft.outcome(site):
            continue
        node = site.whole
        try:
            carry_out(planned(rule, node, draft, ids=[site.id]), node, draft)
        except Refused as refused:
            draft.refuse(node, refused)


def _comment(outcomes: dict[Site, SiteOutcome], draft: Draft) -> None:
    """Add a comment with work to do above each statement with a use that stays."""
    ids: dict[tuple[ast.stmt, str], dict[str, None]] = defaultdict(dict)
    for site, outcome in outcomes.items():
        if outcome.comment:
            ids[draft.edits.statement(site.whole), outcome.what][site.id] = None
    for (statement, what), own in reversed(ids.items()):
        text = f"# TODO({', '.join(own)}): {what} ({ENTRIES[next(iter(own))].guide})"
        draft.edits.comment(statement, text)


def _uses(source: ParsedSource, outcomes: dict[Site, SiteOutcome]) -> _Uses:
    """Return a row for each line and id, with its first column and its worst outcome.

    Before Python 3.12 the column of a use in an f-string may be inexact.
    """
    is_async = SiteOutcome(State.TODO, _NO_RULE)
    found = [(line, column, "TS202", is_async) for line, column in source.async_names]
    for site, outcome in outcomes.items():
        line, offset = site.node.lineno, site.node.col_offset
        column = sources.characters(source.lines[line - 1], offset) + 1
        found.append((line, column, site.id, outcome))
    order, path = list(State), relative(source.path)
    uses: dict[tuple[int, str], tuple[UsageRow, SiteOutcome]] = {}
    for line, column, id, outcome in sorted(found, key=lambda use: use[:3]):
        cell, number = source.places[line - 1] if source.places else (None, line)
        text = restored(source.lines[line - 1]).rstrip()
        row = UsageRow(
            entry=ENTRIES[id],
            file=path,
            line=number,
            cell=cell,
            file_line=source.file_lines[line - 1] if source.file_lines else None,
            column=column,
            snippet=text,
        )
        first, other = uses.get((line, id), (row, outcome))
        worst = max(other, outcome, key=lambda x: order.index(x.state))
        if worst.state is State.UNSAFE:
            rows = dict.fromkeys((*other.rows, *outcome.rows))
            worst = replace(worst, rows=tuple(rows))
        uses[line, id] = first, worst
    return list(uses.values())

"""Migrate the bytes of a source, and report the outcome of each use."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass, field, replace
from typing import List, Mapping, Tuple

from tritonclient_shim.migrate import notebooks
from tritonclient_shim.migrate.builtin_check import other_builtins
from tritonclient_shim.migrate.facts import FileFacts, facts_of
from tritonclient_shim.migrate.format import with_short_lines
from tritonclient_shim.migrate.import_reasons import reason_of_import
from tritonclient_shim.migrate.keeps import Keeps, keeps_of
from tritonclient_shim.migrate.late_imports import late_import
from tritonclient_shim.migrate.notebooks import is_notebook, with_cells
from tritonclient_shim.migrate.options import MigrateOptions, SiteOutcome, State
from tritonclient_shim.migrate.plan import NO_RULE, is_ignored, plan_file
from tritonclient_shim.migrate.program import Program
from tritonclient_shim.migrate.render import render
from tritonclient_shim.migrate.rules import IMPORTS
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.scan import sites, sources
from tritonclient_shim.scan.evaluator import Evaluator
from tritonclient_shim.scan.imports import Imports
from tritonclient_shim.scan.sites import Site
from tritonclient_shim.scan.sources import ParsedSource, restored
from tritonclient_shim.scan.sources import rewritten as without_async
from tritonclient_shim.usage.rows import UsageRow, relative

#: Ids of uses that can stay alone. Other uses need each other.
_ALONE = ("TS201",)
#: Options of the command → the same for the rules; few options first.
_OPTIONS = {
    "": MigrateOptions(),
    "--unsafe": MigrateOptions(unsafe=True),
}
_REMOVED = SiteOutcome(State.SAFE, "removed: nothing reads it any more")
_Uses = List[Tuple[UsageRow, SiteOutcome]]


@dataclass(frozen=True)
class Migrated:
    """A file before and after migration, and its uses with their outcomes."""

    path: str
    before: bytes
    after: bytes
    uses: _Uses = field(default_factory=list)
    helpers: frozenset[str] = frozenset()  # the functions that its uses call
    helper_facts: frozenset[str] = frozenset()  # what is certain of it, by which these are chosen
    keeps: Mapping[Keeps, str] = field(default_factory=dict)  # of v1, for other files, with places
    written_lines: int = 0  # of functions and constants that its uses call
    is_new: bool = False

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
        result = _rewritten(facts_of(source, text, options, beside))
        new = restored(with_short_lines(result.text, text))
    after = data
    if result.text != text:
        is_file = not is_notebook(source)
        after = new.encode(encoding) if is_file else with_cells(source, data, new)
    keeps = keeps_of(result.uses, result.keeps_handed) if beside.linked else {}
    return Migrated(
        path=path,
        before=data,
        after=after,
        uses=result.uses,
        helpers=result.helpers,
        helper_facts=result.helper_facts,
        keeps=keeps,
        written_lines=result.written_lines,
    )


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
        uses = _rewritten(facts_of(source, text, options, beside)).uses
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
    outcome = SiteOutcome(State.TODO, NO_RULE)
    return [row for row, _ in _uses(source, dict.fromkeys(found, outcome))]


@dataclass(frozen=True)
class _Result:
    """The uses of a file, and its new text.

    ``helpers``: the functions that it calls. ``helper_facts``: what is certain of it, by which they
    are chosen. ``written_lines``: of the functions and constants that the text has for its uses.
    ``keeps_handed``: it may keep contexts for requests that other files make or get.
    """

    uses: _Uses
    text: str
    helpers: frozenset[str] = frozenset()
    helper_facts: frozenset[str] = frozenset()
    written_lines: int = 0
    keeps_handed: bool = True


def _rewritten(facts: FileFacts) -> _Result:
    """Rewrite a file: plan its uses, then render the plan."""
    reason = _reason_to_stay(facts)
    if reason:
        return _kept(facts, reason)
    plan = plan_file(facts)
    rendered = render(facts, plan)
    damage = notebooks.damage(facts.source, restored(rendered.text))
    damage = damage or other_builtins(facts, rendered.text, rendered.definitions)
    keeps_handed = plan.decisions.keeps_handed
    if damage:
        return replace(_kept(facts, damage), keeps_handed=keeps_handed)
    outcomes = dict(plan.outcomes)
    for site in rendered.removed:
        if outcomes[site].todo:
            outcomes[site] = _REMOVED
    imports = {site: _import_stays(site, outcomes, facts) for site in rendered.imports_left}
    outcomes.update(imports)
    return _Result(
        uses=_uses(facts.source, outcomes),
        text=rendered.text,
        helpers=rendered.helpers,
        helper_facts=rendered.helper_facts,
        written_lines=sum(len(text.splitlines()) for text in rendered.definitions),
        keeps_handed=keeps_handed,
    )


def _import_stays(
    site: Site, outcomes: Mapping[Site, SiteOutcome], facts: FileFacts
) -> SiteOutcome:
    """Return the outcome of an import that stays, with what needs it."""
    lines = [site.node.lineno for site, outcome in outcomes.items() if outcome.todo]
    if lines:
        reason = f"stays because of {facts.source.place(min(lines))}"
    else:
        reason = reason_of_import(site, facts)
    return SiteOutcome(State.TODO, reason)


def _kept(facts: FileFacts, reason: str) -> _Result:
    """Return the uses of a file that stays, and its text."""
    outcome = SiteOutcome(State.TODO, reason)
    return _Result(_uses(facts.source, dict.fromkeys(facts.sites, outcome)), facts.full_text)


def _reason_to_stay(facts: FileFacts) -> str:
    """Return why all uses of a file stay; '' if rules decide."""
    for site in facts.sites:
        place = facts.source.place(site.node.lineno)
        if site.id in IMPORTS and isinstance(site.node, ast.Call):
            return f"{place} imports by a call; import v1 by a statement"
        if site.id not in _ALONE and is_ignored(site, facts):
            return f"{place} has `# tritonshim: ignore`; the file stays for it"
    for call in facts.evaluator.scopes.calls:
        is_run = isinstance(call.func, ast.Name) and call.func.id in ("eval", "exec")
        parts = [part for argument in call.args for part in ast.walk(argument)]
        if is_run and any(isinstance(part, ast.Constant) for part in parts):
            place = facts.source.place(call.lineno)
            return f"{place} runs a text as code, which may use v1; write it as code"
    if is_notebook(facts.source):
        return notebooks.reason_to_stay(facts)
    late = late_import(facts)
    if late is not None:
        place = facts.source.place(late.lineno)
        return f"{place} imports below code that uses v1; move the import to the top of the file"
    return ""


def _uses(source: ParsedSource, outcomes: Mapping[Site, SiteOutcome]) -> _Uses:
    """Return a row for each line and id, with its first column and its worst outcome.

    Before Python 3.12 the column of a use in an f-string may be inexact.
    """
    is_async = SiteOutcome(State.TODO, NO_RULE)
    found = [(line, column, "TS202", is_async) for line, column in source.async_names]
    for site, outcome in outcomes.items():
        line = site.node.lineno
        offset = site.node.col_offset
        column = sources.characters(source.lines[line - 1], offset) + 1
        found.append((line, column, site.id, outcome))
    order = list(State)
    path = relative(source.path)
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

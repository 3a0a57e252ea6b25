"""The clients of a rewritten file: which of them are made, and where they are closed."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Mapping

from tritonclient_shim.migrate.sites import Site
from tritonclient_shim.rewrite import attributes, closing, sharing
from tritonclient_shim.rewrite.draft import Cells, Draft
from tritonclient_shim.rewrite.emitted import names
from tritonclient_shim.rewrite.options import SiteOutcome
from tritonclient_shim.rewrite.places import Range, ranges
from tritonclient_shim.rewrite.rules import CREATIONS
from tritonclient_shim.rewrite.variables import Blocks, Variables

_OPEN = "nothing closes it, which the program has to do where it is done with it"


def tidied(draft: Draft, first: Draft, made: Cells) -> dict[ast.Call | None, str]:
    """Share and close the clients of a draft → context of the first one: what became of it.

    ``made``: the modules that the first draft was made to.
    """
    contexts = _contexts(draft, first, made)
    variables = Variables(draft, list(contexts)).all()
    blocks = Blocks(draft)
    shared = sharing.share(draft, variables, blocks)
    told: dict[ast.Call | None, str] = {}
    open_ = {
        call for call, context in contexts.items() if _is_kept(call, draft, _closed(context, first))
    }
    for variable in variables:
        if variable in shared:
            open_ -= set(variable.made)
            line = contexts[shared[variable].made[0]].lineno
            told.update({contexts[call]: f"the client of line {line}" for call in variable.made})
        elif closing.close(variable, draft, blocks):
            open_ -= set(variable.made)
    for call, earlier in attributes.share(draft, first, contexts, blocks).items():
        open_.discard(call)
        told[contexts[call]] = f"the client of line {contexts[earlier].lineno}"
    told.update({contexts[call]: _OPEN for call in open_})
    return told


def _closed(context: ast.Call, first: Draft) -> bool:
    """Whether the program closes what takes the place of a context."""
    return any(group.closed for group in first.flows.groups if context in group.made)


def with_clients(
    found: Mapping[Site, SiteOutcome], told: Mapping[ast.Call | None, str]
) -> dict[Site, SiteOutcome]:
    """The outcomes, with what became of the clients."""
    return {
        site: replace(outcome, what=_what(outcome.what, told[site.call]))
        if site.call in told and site.id in CREATIONS.values() and not outcome.todo
        else outcome
        for site, outcome in found.items()
    }


def _what(known: str, told: str) -> str:
    return f"{known}; {told}" if told is _OPEN else told


def _contexts(draft: Draft, first: Draft, made: Cells) -> dict[ast.Call, ast.Call]:
    """The calls that make the clients, and the contexts in whose place they are."""
    places: dict[Range, ast.Call] = {}
    for before, module in made if first.clients else ():
        found = ranges(module, before, first.clients)
        places.update({place: first.clients[node] for place, node in found.items()})
    calls = (one for one in ast.walk(draft.source.tree) if isinstance(one, ast.Call))
    by_place = {draft.places.range(one): one for one in calls} if places else {}
    return {
        by_place[place]: context
        for place, context in sorted(places.items(), key=lambda one: one[0])
        if place in by_place
    }


def _is_kept(call: ast.Call, draft: Draft, closed: bool) -> bool:
    """Whether a client is there after the statement that makes it, and nothing closes it."""
    parent = draft.flows.parents[call]
    if closed:
        return False
    if isinstance(parent, ast.Call):
        return getattr(parent.func, "id", "") not in {draft.called(name) for name in names()}
    return not isinstance(parent, (ast.Expr, ast.withitem, ast.Attribute))

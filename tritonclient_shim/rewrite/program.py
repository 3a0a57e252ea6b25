"""A source → the same program on tritonclient, as far as the rules go."""

from __future__ import annotations

import ast
import re

from tritonclient_shim.migrate.sites import Site
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.rewrite import groups
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.header import FileHeader
from tritonclient_shim.rewrite.options import NOT_SELECTED, Refused, SiteOutcome, State
from tritonclient_shim.rewrite.rules import LOOSE, stub
from tritonclient_shim.rewrite.rules.plan import carry_out, checked

_NO_RULE = "no rule rewrites it"
_STUB = "v1's messages and its raw stub are rewritten by hand: use a client, or the new stub"
#: Ids of imports, which are decided once everything else is rewritten.
IMPORTS = frozenset(f"TS00{number}" for number in range(1, 10))


def rewrite(draft: Draft) -> dict[Site, SiteOutcome]:
    """Rewrite everything but the imports. Return what becomes of each use."""
    groups.rewrite(draft)
    stub.rewrite(draft)
    _loose(draft)
    outcomes = {site: _outcome(site, draft) for site in draft.sites}
    _comment(outcomes, draft)
    return outcomes


def _outcome(site: Site, draft: Draft) -> SiteOutcome:
    known = draft.outcome(site)
    if known is None and site.id in IMPORTS:
        return SiteOutcome(State.SAFE, "import")
    reason = _STUB if "_pb2" in ENTRIES[site.id].symbol else _NO_RULE
    return known or SiteOutcome(State.TODO, reason, comment=True)


def _loose(draft: Draft) -> None:
    """Rewrite what hangs on no object: exceptions, constants, leftovers of NumPy and Python."""
    for site in draft.sites:
        rule = LOOSE.get(site.id)
        if rule is None or draft.outcome(site):
            continue
        if not draft.options.selects(site.id):
            draft.todo(site.whole, NOT_SELECTED, comment=False)
            continue
        node = site.whole
        try:
            carry_out(checked(rule(node, draft), node, draft), node, draft)
        except Refused as refused:
            draft.todo(node, str(refused), not refused.by_option)


def _comment(outcomes: dict[Site, SiteOutcome], draft: Draft) -> None:
    """Write above each place that stays old what is to be done."""
    ids: dict[tuple[ast.stmt, str], list[str]] = {}
    for site, outcome in outcomes.items():
        if outcome.state is State.TODO and outcome.comment:
            same = ids.setdefault((draft.edits.statement(site.whole), outcome.what), [])
            same += [site.id] if site.id not in same else []
    for (statement, what), own in ids.items():
        reason = re.sub(r" in line \d+", "", what)  # the lines of the file will be others
        text = f"# TODO({', '.join(own)}): {reason} ({ENTRIES[own[0]].guide})"
        draft.edits.comments[statement].append(text)


def with_imports(outcomes: dict[Site, SiteOutcome], header: FileHeader) -> dict[Site, SiteOutcome]:
    """Return the outcomes, with the imports that the rewritten file still has as not done."""
    stays = SiteOutcome(State.TODO, "stays for the uses that stay")
    return {
        site: stays
        if site.id in IMPORTS
        and not outcome.todo
        and outcome.what == "import"
        and header.stays(site)
        else outcome
        for site, outcome in outcomes.items()
    }

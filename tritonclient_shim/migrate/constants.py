"""Formats, flags and protocols: rewritten, unless contexts that stay may need them."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Iterable, Mapping, Sequence

from tritonclient_shim.migrate.decisions import Keep, Outcomes, Plan, Plans, Refused, outcome_of
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.keeps import Keeps
from tritonclient_shim.migrate.options import SiteOutcome, State
from tritonclient_shim.migrate.rules import FORMATS, PROTOCOLS, planned
from tritonclient_shim.migrate.rules.names import FORMS, is_certain_identity, is_protocol, is_test
from tritonclient_shim.migrate.unsafe import UnsafeChange, reason_of
from tritonclient_shim.scan.sites import Site

_CONSTANTS = {**FORMATS, **PROTOCOLS}
_IS = "compare the protocol with `==`, not with `is`: it becomes a text"
_TRUTH = "compare the protocol with `==` and a protocol: it becomes a text, which is always true"


def plan_constants(
    facts: FileFacts,
    plans: Sequence[tuple[ast.AST, Plan]],
    decided: Outcomes,
    reasons: Mapping[str, Refused],
) -> tuple[Plans, dict[ast.AST, SiteOutcome]]:
    """Return plans for formats, flags and protocols, and the outcomes with those that stay.

    ``reasons``: why those with an id stay outside of calls that change.
    """
    changed = {node for node, _ in plans}
    constants: list[tuple[ast.AST, Plan]] = []
    left = dict(decided)
    for site in facts.sites:
        node = site.whole
        if site.id not in _CONSTANTS or outcome_of(site, left):
            continue
        is_outside = changed.isdisjoint(facts.flows.around(node))
        try:
            if site.id in reasons and is_outside:
                raise reasons[site.id]
            plan = planned(_CONSTANTS[site.id], node, facts)
        except Refused as refused:
            left.setdefault(node, _left_constant(site, refused, facts))
            continue
        row = _row_of_constant(site)
        if row and is_outside and facts.beside.linked:
            plan = replace(plan, unsafe=(*plan.unsafe, row))
        constants.append((node, plan))
    return tuple(constants), left


def _row_of_constant(site: Site) -> UnsafeChange | None:
    """Return the row of a constant in other files; None for a flag, which was a number, too."""
    if site.id in PROTOCOLS:
        return UnsafeChange.PROTOCOL_NAME
    return UnsafeChange.FORMAT_NUMBER if site.id in FORMS else None


def reasons_of_constants(
    facts: FileFacts, formats_stay: bool, staying: Sequence[Keep]
) -> dict[str, Refused]:
    """Return why constants stay that are in no call that is rewritten, by their ids.

    What contexts that stay may need stays. ``staying``: why contexts of the file stay.
    """
    unreadable = refusal(PROTOCOLS, facts)
    reason = None
    if staying or facts.protocols_stay:
        reason = _kept(staying, UnsafeChange.PROTOCOL_NAME, facts)
    elif unreadable:
        reason = Refused(unreadable.reason, unreadable.by_option, unreadable.node)
    elif facts.shows(is_protocol):
        reason = Refused("print a name of your own in place of the protocol")
    else:
        reason = _test_of_protocol(facts)
    reasons = dict.fromkeys(PROTOCOLS, reason) if reason else {}
    if formats_stay:
        kept = _kept(staying, UnsafeChange.FORMAT_NUMBER, facts)
        reasons.update(dict.fromkeys(FORMS, kept))
    return reasons


def _test_of_protocol(facts: FileFacts) -> Refused | None:
    """Return why protocols stay that are compared by ``is``, or tested for their truth."""
    for test in facts.parents_of(is_protocol):
        if is_test(test) and not is_certain_identity(test, facts):
            return Refused(_IS if isinstance(test, ast.Compare) else _TRUTH, node=test)
    return None


def _kept(staying: Sequence[Keep], row: UnsafeChange, facts: FileFacts) -> Refused:
    """Return why constants stay: for contexts of the file, or of other files."""
    if staying:
        return Refused(facts.reference(staying[0]), by_option=True)
    reason = reason_of([row])
    if facts.beside.kept & {Keeps.CONTEXTS, Keeps.REQUESTS}:
        reason = facts.beside.reason_of(Keeps.CONTEXTS, Keeps.REQUESTS)
    return Refused(reason, by_option=True)


def _left_constant(site: Site, refused: Refused, facts: FileFacts) -> SiteOutcome:
    """Return why a constant stays: with the place of the cause, if it is another line."""
    line = getattr(refused.node, "lineno", 0)
    lines = {other.node.lineno for other in facts.sites if other.id in PROTOCOLS}
    if line in lines and line != site.node.lineno:
        reason = f"stays because of {facts.source.place(line)}: {refused}"
        return SiteOutcome(State.TODO, reason)
    return SiteOutcome(State.TODO, str(refused), comment=not refused.by_option)


def refusal(ids: Iterable[str], facts: FileFacts) -> Keep | None:
    """Return why a constant with one of these ids cannot be rewritten; None if all can.

    Requests for classes say themselves that they need an option.
    """
    for site in facts.sites:
        try:
            if site.id in ids:
                planned(_CONSTANTS[site.id], site.whole, facts)
        except Refused as refused:
            if site.id != "TS063" or not refused.by_option:
                return Keep(str(refused), site.node, refused.by_option)
    return None

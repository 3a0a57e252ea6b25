"""Contexts with all their uses: rewritten as a whole, or left as they are.

First each unit is planned alone. Then the units that stay decide what else stays.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from tritonclient_shim.migrate.annotations import annotations_of
from tritonclient_shim.migrate.constants import plan_constants, reasons_of_constants
from tritonclient_shim.migrate.decisions import Keep, Outcomes, Plan, Plans, Refused, keep
from tritonclient_shim.migrate.facts import CONFIGS, FileFacts
from tritonclient_shim.migrate.options import SiteOutcome, State
from tritonclient_shim.migrate.rules import FORMATS, MEMORY, PROTOCOLS
from tritonclient_shim.migrate.rules.infer import hidden_formats
from tritonclient_shim.migrate.rules.models import REQUESTS
from tritonclient_shim.migrate.units import INFER, Unit, units_of
from tritonclient_shim.migrate.uses import plans_of_uses
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.sites import arguments

_STATUS = f"{API}.ServerStatusContext"
_SHARED = "write its outputs, with their formats, in the call: a context that stays has them, too"


@dataclass(frozen=True)
class _PlannedUnit:
    """A unit, and the plans for its uses: for those before the one that stays, if it stays."""

    unit: Unit
    plans: Plans


@dataclass(frozen=True)
class UnitPlans:
    """What becomes of all units of a file.

    ``plans``: of the uses that are rewritten, in the order of their edits. ``tried``: all plans,
    with those of units that stay. ``left``: the outcomes of uses that stay. ``kept``: modules of v1
    that stay for them. ``formats_stay``: formats outside of calls stay for requests that stay.
    ``keeps_handed``: contexts for requests stay that other code makes or gets.
    """

    plans: Plans
    tried: tuple[Plan, ...]
    left: Outcomes
    kept: frozenset[str]
    formats_stay: bool
    keeps_handed: bool


def plan_units(facts: FileFacts, decided: Outcomes) -> UnitPlans:
    """Plan every unit, and the constants. ``decided``: the outcomes of uses that are decided."""
    units = [_planned_unit(unit, facts) for unit in units_of(facts)]
    senders = [item.unit for item in units if INFER in item.unit.kinds]
    keeps_handed = any(unit.stays and unit.is_handed for unit in senders)
    formats_stay = facts.formats_stay or any(unit.stays for unit in senders)
    if formats_stay and (facts.has_classes or facts.has("TS081", "TS086", "TS115")):
        units = [_with_formats(item, facts) for item in units]
    staying = [item.unit for item in units if item.unit.stays]
    left = dict(decided)
    for unit in staying:
        left = {**_left(unit, facts), **left}
    plans: list[tuple[ast.AST, Plan]] = []
    for item in units:
        if not item.unit.stays:
            plans += [(node, plan) for node, plan in item.plans if node not in left]
    reasons = reasons_of_constants(
        facts, formats_stay, [unit.stays for unit in staying if unit.stays]
    )
    constants, left = plan_constants(facts, plans, left, reasons)
    return UnitPlans(
        plans=(*constants, *plans),
        tried=tuple(plan for item in units for _, plan in item.plans),
        left=left,
        kept=frozenset().union(*map(_kept_modules, staying)),
        formats_stay=formats_stay,
        keeps_handed=keeps_handed,
    )


def _planned_unit(unit: Unit, facts: FileFacts) -> _PlannedUnit:
    """Plan the uses in a unit until one stays: then all stay."""
    plans: list[tuple[ast.AST, Plan]] = []
    if unit.stays:
        return _PlannedUnit(unit, ())
    try:
        for item in plans_of_uses(unit, facts):
            plans.append(item)
    except Refused as refused:
        unit = replace(unit, stays=keep(refused, unit.first_node))
    return _PlannedUnit(unit, tuple(plans))


def _with_formats(item: _PlannedUnit, facts: FileFacts) -> _PlannedUnit:
    """Return a unit that stays with others if its formats in variables may be theirs."""
    if item.unit.stays or INFER not in item.unit.kinds:
        return item
    return replace(item, unit=replace(item.unit, stays=_shared(item.unit, facts)))


def _shared(unit: Unit, facts: FileFacts) -> Keep | None:
    """Return why a unit stays with others: formats in a variable may be those of all contexts."""
    calls = {call for group in unit.groups for call in group.calls}
    for site in facts.sites:
        if site.id in REQUESTS and site.call in calls:
            outputs = arguments(PARAMETERS[site.id], site.call).get("outputs")
            if outputs and hidden_formats(outputs, facts):
                return Keep(_SHARED, site.call)
    return None


def _left(unit: Unit, facts: FileFacts) -> dict[ast.AST, SiteOutcome]:
    """Return the outcomes of a unit that stays: its reason, and a reference at other uses."""
    assert unit.stays is not None
    calls = {call for group in unit.groups for call in (*group.creations, *group.calls)}
    annotations = {node for group in unit.groups for node in annotations_of(group, facts)}
    reference = SiteOutcome(State.TODO, facts.reference(unit.stays))
    left: dict[ast.AST, SiteOutcome] = {}
    for site in facts.sites:
        is_constant = site.id in (*FORMATS, *PROTOCOLS)
        around = facts.flows.around(site.node) if is_constant else [site.call]
        is_annotation = site.node in annotations
        if site in unit.sites or is_annotation or not calls.isdisjoint(around):
            left[site.whole] = reference
    return {**left, unit.stays.node: unit.stays.outcome}


def _kept_modules(unit: Unit) -> set[str]:
    """Return the modules of v1 that stay for a unit."""
    kept = set()
    if any(site.id in MEMORY for site in unit.sites):
        kept.add("tensorrtserver.shared_memory")
    if _STATUS in unit.kinds:
        kept.add(CONFIGS)
    return kept

"""The plan of a file: what becomes of each use, decided in this order.

1. Uses with an ignore comment stay.
2. The raw stub is planned: all its uses are rewritten, or none.
3. Contexts are planned with all their uses, then formats, flags and protocols (`unit_plans`).
4. What depends on several of these plans is decided (`Decisions`).
5. Uses without an object are planned: exceptions, and leftovers of NumPy and Python.
6. Plans and decisions give edits and outcomes. Imports are left to the header.

A use that is decided in one step is left out of the steps below.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Iterator, Mapping

from tritonclient_shim.migrate.decisions import (
    Decisions,
    Outcomes,
    Plan,
    Plans,
    Refused,
    keep,
    outcome_of,
)
from tritonclient_shim.migrate.edits import Edit
from tritonclient_shim.migrate.facts import CONFIGS, ERROR, FileFacts
from tritonclient_shim.migrate.options import SiteOutcome, State
from tritonclient_shim.migrate.rules import BY_HAND, IMPORTS, LOOSE, PROTOCOLS, planned, stub
from tritonclient_shim.migrate.rules.contexts import ClassPlan, ClientPlan
from tritonclient_shim.migrate.rules.infer import RequestPlan, sends_regions
from tritonclient_shim.migrate.rules.stub import StubPlan
from tritonclient_shim.migrate.unit_plans import UnitPlans, plan_units
from tritonclient_shim.scan import sources
from tritonclient_shim.scan.sites import Site

NO_RULE = "write it anew: the guide has its successor"
IMPORT = SiteOutcome(State.SAFE, "import")


@dataclass(frozen=True)
class FilePlan:
    """What becomes of the uses of a file, and the edits of its body."""

    decisions: Decisions
    outcomes: Mapping[Site, SiteOutcome]
    edits: tuple[Edit, ...]


def plan_file(facts: FileFacts) -> FilePlan:
    """Plan all uses of a file."""
    stub_plan = stub.plan(facts)
    units = plan_units(facts, _first_outcomes([*_ignored(facts), *stub_plan.outcomes]))
    decisions = _decisions(facts, stub_plan, units)
    decided = {**units.left, **_outcomes(units.plans, decisions)}
    loose_plans, loose_left = _loose(facts, decided)
    decided = {**loose_left, **decided, **_outcomes(loose_plans, decisions)}
    edits = list(stub_plan.edits)
    for _, plan in (*units.plans, *loose_plans):
        edits += plan.edits(decisions)
    outcomes = {site: outcome_of(site, decided) or _undecided(site) for site in facts.sites}
    return FilePlan(decisions, outcomes, tuple(edits))


def is_ignored(site: Site, facts: FileFacts) -> bool:
    """True if a comment hides a use."""
    return sources.is_ignored(facts.source.lines[site.node.lineno - 1], site.id)


def _ignored(facts: FileFacts) -> Iterator[tuple[ast.AST, SiteOutcome]]:
    """Yield the outcomes of uses that a comment hides."""
    for site in facts.sites:
        if is_ignored(site, facts):
            yield site.whole, SiteOutcome(State.TODO, "`# tritonshim: ignore`")


def _first_outcomes(outcomes: list[tuple[ast.AST, SiteOutcome]]) -> dict[ast.AST, SiteOutcome]:
    """Return the first outcome of each node."""
    return dict(reversed(outcomes))


def _decisions(facts: FileFacts, stub_plan: StubPlan, units: UnitPlans) -> Decisions:
    """Return what depends on several uses."""
    plans = [plan for _, plan in units.plans]
    clients = [plan for plan in plans if isinstance(plan, ClientPlan)]
    models = [client.model for client in clients if client.model]
    has_class = any(isinstance(plan, ClassPlan) for plan in plans)
    kept = units.kept | ({CONFIGS} if stub_plan.stays else set())
    return Decisions(
        protocols=stub_plan.protocols.union(*(plan.protocols for plan in plans)),
        connects=any(not client.protocol for client in clients),
        protocols_stay=any(
            site.id in PROTOCOLS for site in facts.sites if outcome_of(site, units.left)
        ),
        sends_headers=any(client.headers is not None for client in clients),
        shares_clients=facts.has_threads or any(client.contexts.shared for client in clients),
        hands_models=has_class or any(model.escapes for model in models),
        asks_models=has_class and facts.asks or any(model.asks for model in models),
        has_models_in_regions=any(map(sends_regions, models)),
        # also requests of contexts that stay after all
        calls_helper=any(map(_needs_helper, units.tried)),
        formats_stay=units.formats_stay,
        keeps_handed=units.keeps_handed,
        kept=kept | ({ERROR} if facts.errors_stay else set()),
    )


def _undecided(site: Site) -> SiteOutcome:
    """Return the outcome of a use that no rule has decided."""
    if site.id in IMPORTS:
        return IMPORT
    return SiteOutcome(State.TODO, BY_HAND.get(site.id, NO_RULE), comment=True)


def _needs_helper(plan: Plan) -> bool:
    """True if a plan is that of a request that cannot become lines of tritonclient."""
    return isinstance(plan, RequestPlan) and plan.in_lines is None


def _outcomes(plans: Plans, decisions: Decisions) -> dict[ast.AST, SiteOutcome]:
    """Return the outcomes of uses with plans."""
    return {node: plan.outcome(decisions) for node, plan in plans}


def _loose(facts: FileFacts, decided: Outcomes) -> tuple[Plans, dict[ast.AST, SiteOutcome]]:
    """Return the plans for uses without an object, and the outcomes of those that stay."""
    plans: dict[ast.AST, Plan] = {}
    left: dict[ast.AST, SiteOutcome] = {}
    for site in facts.sites:
        node = site.whole
        is_decided = any(
            x in part for x in (site.node, site.call) for part in (decided, plans, left)
        )
        if site.id not in LOOSE or is_decided:
            continue
        try:
            plans[node] = planned(LOOSE[site.id], node, facts, ids=[site.id])
        except Refused as refused:
            stays = keep(refused, node)
            left.setdefault(stays.node, stays.outcome)
    return tuple(plans.items()), left

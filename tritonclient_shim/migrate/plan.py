"""The plan of a file: what is decided of each use, in a stated order, and the edits that follow.

1. Uses with an ignore comment stay.
2. The raw stub is planned: all its uses are rewritten, or none.
3. Contexts are planned with all their uses, and constants for them (`groups`).
4. What depends on several uses is decided (`Decisions`).
5. Uses without an object are planned: exceptions, constants, leftovers of NumPy and Python.
6. All plans become edits and outcomes.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Iterator

from tritonclient_shim.migrate.decisions import Decisions, Plan, Plans, Refused, keep, planned
from tritonclient_shim.migrate.edits import Edit
from tritonclient_shim.migrate.facts import CONFIGS, ERROR, FileFacts
from tritonclient_shim.migrate.groups import Outcomes, UnitPlans, plan_units
from tritonclient_shim.migrate.options import SiteOutcome, State
from tritonclient_shim.migrate.rules import LOOSE, stub
from tritonclient_shim.migrate.rules.contexts import ClientPlan
from tritonclient_shim.migrate.rules.infer import ObjectRequestPlan, RequestPlan, StartPlan
from tritonclient_shim.migrate.rules.stub import StubPlan
from tritonclient_shim.scan import sources
from tritonclient_shim.scan.sites import Site


@dataclass(frozen=True)
class FilePlan:
    """What becomes of a file, but its comments and imports.

    ``outcomes``: of uses, by their nodes, or by the calls that they are parts of.
    """

    decisions: Decisions
    outcomes: Outcomes
    edits: tuple[Edit, ...]


def plan_file(facts: FileFacts) -> FilePlan:
    """Plan all uses of a file."""
    stub_plan = stub.plan(facts)
    units = plan_units(facts, _first_outcomes([*_ignored(facts), *stub_plan.outcomes]))
    decisions = _decisions(facts, stub_plan, units)
    outcomes = {**units.left, **_outcomes(units.plans, decisions)}
    plans, left = _loose(facts, outcomes)
    edits = list(stub_plan.edits)
    for _, plan in (*units.plans, *plans):
        edits += plan.edits(decisions)
    return FilePlan(decisions, {**left, **outcomes, **_outcomes(plans, decisions)}, tuple(edits))


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
    kept = units.kept | ({CONFIGS} if stub_plan.stays else set())
    return Decisions(
        protocols=stub_plan.protocols.union(*(plan.protocols for plan in plans)),
        connects=any(not client.protocol for client in clients),
        sends_headers=any(client.headers is not None for client in clients),
        shares_clients=facts.has_threads or any(client.contexts.shared for client in clients),
        # also requests of contexts that stay after all
        calls_helper=any(map(_needs_helper, units.tried)),
        formats_stay=units.formats_stay,
        keeps_handed=units.keeps_handed,
        kept=kept | ({ERROR} if facts.errors_stay else set()),
    )


def _needs_helper(plan: Plan) -> bool:
    """True if a plan is that of a request that cannot become lines of tritonclient."""
    may_be_lines = isinstance(plan, (RequestPlan, StartPlan)) and plan.in_lines is not None
    is_request = isinstance(plan, (RequestPlan, ObjectRequestPlan, StartPlan))
    return is_request and not may_be_lines


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

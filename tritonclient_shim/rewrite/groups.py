"""Contexts with all their uses: rewritten as a whole, or left as they are."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Callable, Iterable, Iterator, List, Tuple

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.sites import Site
from tritonclient_shim.migrate.values import Symbol
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import CLOSING, CONTEXTS, Group
from tritonclient_shim.rewrite.options import NOT_SELECTED, Refused, State
from tritonclient_shim.rewrite.rules import (
    CREATIONS,
    FORMATS,
    MEMORY,
    METHODS,
    PROTOCOLS,
    protocols,
)
from tritonclient_shim.rewrite.rules.contexts import client, model_object, of_object, place_class
from tritonclient_shim.rewrite.rules.models import (
    Carried,
    carried,
    is_over_grpc,
    object_class,
)
from tritonclient_shim.rewrite.rules.plan import Plan, carry_out, checked
from tritonclient_shim.rewrite.rules.values import drop_aliases, formats_alias

INFER = f"{API}.InferContext"
_NEUTRAL = CLOSING | {"__enter__"}
_FORMS = frozenset({"TS062", "TS063"})
_TAKES_REGIONS = frozenset({"TS041", "TS042", "TS043", "TS114", "TS115"})
_ESCAPES = "code that gets the object may use more of a context than it has"
_REGIONS_STAY = "shared memory stays for what cannot be rewritten"
_DERIVED = "a class derived from it may use more of a context than it has"
Plans = List[Tuple[ast.AST, Plan]]


class _Stays(Exception):
    """A group cannot be rewritten, because of a node."""

    def __init__(self, node: ast.AST, reason: str, comment: bool = True) -> None:
        super().__init__(reason)
        self.node, self.comment = node, comment

    @property
    def line(self) -> int:
        return int(getattr(self.node, "lineno", 0))


def rewrite(draft: Draft) -> None:
    """Rewrite every group of contexts that can be rewritten, and its constants."""
    groups = [group for group in draft.flows.groups if group.kind in CONTEXTS]
    draft.protocol_class = protocols.needs_class(draft)
    draft.object_class = object_class(draft)
    planned, memory, lost = _planned(draft, groups)
    whole = len(planned) == len(groups) and not lost
    draft.protocol_class = draft.protocol_class or not whole
    draft.keeps_shared_forms = not whole
    for node, plan in _constants(draft, planned, whole):
        carry_out(plan, node, draft)
    for plans in (*planned.values(), memory):
        for node, plan in plans:
            carry_out(plan, node, draft)
    if draft.every_object:
        _place_classes(draft)
    if whole:
        drop_aliases(draft)


def _planned(
    draft: Draft, groups: list[Group]
) -> tuple[dict[Group, Plans], Plans, dict[str, ast.AST]]:
    """Return plans for groups and for shared memory, and the classes of lost contexts."""
    lost, strays = _lost(draft)
    planned: dict[Group, Plans] = {}
    for group in groups:
        try:
            if group.kind in lost:
                raise _Stays(lost[group.kind], _why(lost[group.kind], draft))
            planned[group] = _Planner(draft, group).plans()
        except _Stays as stays:
            _leave(group, stays, draft)
    _leave_objects(draft, groups, planned, lost)
    memory = _memory_plans(draft)
    if len(memory) < sum(site.id in MEMORY for site in draft.sites) or _take_regions(
        draft, [group for group in groups if group not in planned]
    ):
        draft.memory, memory = False, []  # shared memory stays, with the contexts that use it
        for group, call in _take_regions(draft, planned).items():
            _leave(group, _Stays(call, _REGIONS_STAY), draft)
            del planned[group]
        for site in draft.sites:
            if site.id in MEMORY:
                draft.todo(site.whole, _REGIONS_STAY, comment=False)
        _leave_objects(draft, groups, planned, lost)
    for node in strays:
        if draft.every_object:
            draft.note(node, State.UNSAFE, f"a method of {draft.object_class}")
        else:
            draft.todo(node, _why(lost[INFER], draft), comment=False)
    return planned, memory, lost


def _leave_objects(
    draft: Draft, groups: list[Group], planned: dict[Group, Plans], lost: dict[str, ast.AST]
) -> None:
    """Leave every context of a class with subclasses if one of the contexts stays."""
    contexts = [group for group in groups if group.kind == INFER]
    stayed = [group for group in contexts if group not in planned]
    if draft.every_object and stayed:
        draft.every_object = False
        lost[INFER] = stayed[0].creations[0]
        for group in [group for group in contexts if group in planned]:
            _leave(group, _Stays(lost[INFER], _why(lost[INFER], draft)), draft)
            del planned[group]


def _memory_plans(draft: Draft) -> Plans:
    """Return plans for the uses of shared memory that can be rewritten."""
    memory: Plans = []
    for site in draft.sites:
        node = site.whole
        if site.id in MEMORY and not draft.options.selects(site.id):
            draft.todo(node, NOT_SELECTED, comment=False)
        elif site.id in MEMORY:
            try:
                memory.append((node, checked(MEMORY[site.id](node, draft), node, draft)))
            except Refused as refused:
                draft.todo(node, str(refused), not refused.by_option)
    return memory


def _take_regions(draft: Draft, groups: Iterable[Group]) -> dict[Group, ast.Call]:
    """Return the groups with a call that takes a region, each with such a call."""
    takers = [site.call for site in draft.sites if site.id in _TAKES_REGIONS and site.call]
    calls = {group: [call for call in takers if call in group.calls] for group in groups}
    return {group: own[0] for group, own in calls.items() if own}


def _place_classes(draft: Draft) -> None:
    """Put the class of objects where v1's class is a value, a base, or calls its constructor."""
    creations = {call for group in draft.flows.groups for call in group.creations}
    for site in draft.sites:
        if ENTRIES[site.id].symbol != INFER or site.call in creations or draft.outcome(site):
            continue
        if not formats_alias(site.node, draft):
            place_class(site.node, draft)
            draft.modules.update(["grpc"] if is_over_grpc(draft) else protocols.PROTOCOLS)
            draft.note(site.whole, State.UNSAFE, f"derived from {draft.object_class}")


def _why(node: ast.AST, draft: Draft) -> str:
    """Return why the contexts of a class stay: the outcome of a node."""
    known = draft.outcomes.get(node)
    return known.what if known else "where this context was made is not known"


def _lost(draft: Draft) -> tuple[dict[str, ast.AST], list[ast.AST]]:
    """Return the classes with objects of unknown origin, each with a use of such an object.

    Also return the uses of an ``InferContext`` that can stay as they are if all contexts become
    objects.
    """
    strays: list[ast.AST] = []
    unknown = {kind: node for kind, node in draft.flows.unknown if kind in CONTEXTS}
    known = {id(call) for group in draft.flows.groups for call in group.calls}
    draft.every_object = False
    for site in draft.sites:
        # if errors stay v1's, the contexts that raise them stay
        if site.id in ("TS016", "TS017") and draft.errors_stay:
            draft.todo(site.whole, "errors of tritonclient do not tell it")
            return dict.fromkeys(CONTEXTS, site.whole), strays
        symbol = ENTRIES[site.id].symbol
        owner = symbol.rpartition(".")[0]
        if owner in CONTEXTS and site.id in METHODS and id(site.call) not in known:
            if _is_of_the_only(owner, site, draft):
                continue
            if owner == INFER and draft.options.unsafe:
                draft.every_object = True
                strays.append(site.whole)
                continue
            draft.todo(site.whole, "where this context was made is not known")
            unknown[owner] = site.whole
        is_class = symbol in CONTEXTS and site.call is None
        if is_class and not formats_alias(site.node, draft):
            if symbol == INFER and draft.options.unsafe:
                draft.every_object = True
                continue
            draft.todo(site.node, "the class itself is used: write it anew, around a client")
            unknown[symbol] = site.node
    if INFER in unknown and draft.options.unsafe:
        draft.every_object = True
        del unknown[INFER]
    return unknown, strays


def _is_of_the_only(owner: str, site: Site, draft: Draft) -> bool:
    """Add a call to the only group of its class. True if that is possible."""
    groups = [group for group in draft.flows.groups if group.kind == owner]
    if site.call is None or not isinstance(site.call.func, ast.Attribute):
        return False
    if Symbol(owner) in draft.evaluator.of(site.call.func.value):
        return False  # it is called on the class itself
    if not draft.options.unsafe or len(groups) != 1 or len(groups[0].creations) != 1:
        return False
    groups[0].calls.append(site.call)
    return True


def _leave(group: Group, stays: _Stays, draft: Draft) -> None:
    """Record that a group stays: the reason at its node, a reference at other uses."""
    calls = {*group.creations, *group.calls}
    inside = {id(node) for call in calls for node in ast.walk(call)}
    draft.todo(stays.node, str(stays), stays.comment)
    for site in draft.sites:
        is_constant = site.id in FORMATS or site.id in PROTOCOLS
        belongs = site.call in calls or is_constant and id(site.node) in inside
        if belongs and not draft.outcome(site):
            draft.todo(site.whole, f"stays because of line {stays.line}: {stays}", comment=False)


def _constants(draft: Draft, planned: dict[Group, Plans], whole: bool) -> Plans:
    """Return plans for formats, flags and protocols outside of the calls of groups.

    If contexts stay, formats stay. Flags and protocols have equal numbers in v1 and v2.
    """
    inside = {id(node) for plans in planned.values() for node, _ in plans}
    rules = {**FORMATS, **PROTOCOLS}
    constants: Plans = []
    for site in draft.sites:
        node = site.whole
        if site.id not in rules or id(node) in inside or draft.outcome(site):
            continue
        if not whole and (site.id in _FORMS or not planned):
            draft.todo(node, "stays for the contexts that stay", comment=False)
            continue
        try:
            constants.append((node, checked(rules[site.id](node, draft), node, draft)))
        except Refused as refused:
            draft.todo(node, str(refused), not refused.by_option)
    return constants


class _Planner:
    """A planner for the rewrite of a group."""

    def __init__(self, draft: Draft, group: Group) -> None:
        self._draft, self._group = draft, group
        self._carried: Carried | None = None

    def plans(self) -> Plans:
        """Return the plans for the nodes of the group."""
        group, draft = self._group, self._draft
        if group.kind == INFER and draft.every_object:
            return self._objects(_DERIVED)
        try:
            return self._clients()
        except _Stays:
            if group.kind != INFER or not draft.options.unsafe:
                raise
            return self._objects(_ESCAPES)

    def _clients(self) -> Plans:
        """Return plans for clients. Requests get the client and the model's name."""
        group, draft = self._group, self._draft
        taken = [(node, "its method is handed on") for node in group.taken]
        taken = [pair for pair in taken if pair[0].attr not in CLOSING]
        for node, reason in (*group.escapes, *taken):
            raise _Stays(node, f"{reason}, and expects the old context")
        if group.kind == INFER:
            try:
                self._carried = carried(group, draft)
            except Refused as refused:
                raise _Stays(group.creations[0], str(refused)) from refused
            if not self._carried.is_visible:
                return self._objects("")
        id = CREATIONS[group.kind]
        plans: Plans = [
            (call, self._at(call, lambda call: client(id, call, draft, self._carried)))
            for call in group.creations
        ]
        for call in group.calls:
            plans += self._use(call)
        return plans

    def _objects(self, unsafe: str) -> Plans:
        """Return plans for objects that know their models. Their methods are called as before."""
        draft, group = self._draft, self._group

        def make(call: ast.Call) -> Plan:
            return replace(model_object(call, draft), unsafe=unsafe)

        plans: Plans = [(call, self._at(call, make)) for call in group.creations]
        for call in group.calls:
            plans.append((call, self._at(call, lambda call: of_object(call, draft))))
            plans += self._formats(call)
        return plans

    def _use(self, call: ast.Call) -> Iterator[tuple[ast.AST, Plan]]:
        assert isinstance(call.func, ast.Attribute)
        draft, name = self._draft, call.func.attr
        ids = [site.id for site in draft.sites if site.call is call and site.id in METHODS]
        if not ids and name not in _NEUTRAL:
            raise _Stays(call, f"no client has a method {name}")
        if not ids:
            yield call, Plan(lambda: None, "stays")
            return
        rule = METHODS[ids[0]]
        yield call, self._at(call, lambda call: rule(call, draft, self._carried))
        yield from self._formats(call)

    def _formats(self, call: ast.Call) -> Iterator[tuple[ast.AST, Plan]]:
        inside = {id(node) for node in ast.walk(call)}
        for site in self._draft.sites:
            if site.id in FORMATS and id(site.node) in inside:
                plan = self._format(FORMATS[site.id])
                yield site.node, self._at(site.node, plan)

    def _format(self, rule: Callable[[ast.AST, Draft], Plan]) -> Callable[[ast.AST], Plan]:
        return lambda node: rule(node, self._draft)

    def _at(self, node: ast.AST, make: Callable[..., Plan]) -> Plan:
        whole = {*METHODS, *CREATIONS.values()}
        ids = {site.id for site in self._draft.sites if site.call is node} & whole
        if not self._draft.options.selects(*ids):
            raise _Stays(node, NOT_SELECTED, comment=False)
        try:
            return checked(make(node), node, self._draft)
        except Refused as refused:
            raise _Stays(node, str(refused), not refused.by_option) from refused

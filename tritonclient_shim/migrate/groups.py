"""Contexts with all their uses: rewritten as a whole, or left as they are.

A unit is what is decided together: the contexts that one expression can stand for, all users of
shared memory, or all contexts of a class whose objects come from elsewhere. First each unit is
planned, then the plans are carried out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Callable, Collection, Iterable, List, Tuple

from tritonclient_shim.migrate.closing import call_after_close
from tritonclient_shim.migrate.draft import CONFIGS, Draft, owner
from tritonclient_shim.migrate.flows import CLOSING, CONTEXTS, Group
from tritonclient_shim.migrate.options import (
    Plan,
    Refused,
    carry_out,
    planned,
    refuse_unless_allowed,
)
from tritonclient_shim.migrate.program import Keeps
from tritonclient_shim.migrate.rules import (
    BY_HAND,
    CREATIONS,
    FORMATS,
    MEMORY,
    METHODS,
    PROTOCOLS,
    RENAMED,
)
from tritonclient_shim.migrate.rules.contexts import class_itself, client
from tritonclient_shim.migrate.rules.infer import has_regions, hidden_formats
from tritonclient_shim.migrate.rules.models import CLASS, REQUESTS, Contexts, Form, form_of
from tritonclient_shim.migrate.rules.names import (
    FILES,
    FORMS,
    catches_files,
    is_protocol,
    is_test,
    protocol_of,
)
from tritonclient_shim.migrate.unsafe import UnsafeChange, reason_of
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.sites import UNMISTAKABLE, Site, arguments, first_parameter

INFER = f"{API}.InferContext"
STATUS = f"{API}.ServerStatusContext"
_NEUTRAL = CLOSING | {"__enter__"}
_CONSTANTS = {**FORMATS, **PROTOCOLS}
_UNKNOWN = "create the context in the file that uses it"
_METHOD_ITSELF = "call the method where its arguments are, instead of handing it on"
_SHARED = "write its outputs, with their formats, in the call: a context that stays has them, too"
_APART = "use contexts with shared memory apart from classes that derive from them"
_ERRORS = "drop the ids of errors: only v1 had them"
_STARTS = "import v1 in all files that start or fetch asynchronous requests"
_HANDED = "other files of the program keep contexts or regions, which may get its handles"
_KEPT_ELSEWHERE = (
    "other files of the program keep uses of such contexts; rewrite these by hand first"
)
_CAUGHT = "other files of the program keep v1's exception, which catches no error of a client"
_INHERITED = "connect in the process that sends: a forked one cannot use its parent's connection"
_REPLACED = "other files of the program may replace the class in this one"
_OWN_METHOD = "a class of the program has a method {}, too; give that method another name"
_HANDED_ON = "code that gets it may expect v1's context"
_IN_TEXT = "print a name of your own in place of the context"
_KEPT = "stays for the contexts that stay"
Plans = List[Tuple[ast.AST, Plan]]


@dataclass(eq=False)
class _Unit:
    """Contexts and other uses that are rewritten together, or not at all."""

    groups: list[Group]
    sites: list[Site] = field(default_factory=list)  # that belong to no group
    kind: str = ""  # all contexts of a class, whose objects come from elsewhere, too
    stays: Refused | None = None  # why they are not rewritten

    @property
    def kinds(self) -> set[str]:
        """Return the classes of the contexts."""
        return {group.kind for group in self.groups} | ({self.kind} if self.sites else set())


def rewrite(draft: Draft) -> None:
    """Rewrite every unit that can be rewritten, and its constants."""
    units = _units(draft)
    plans_of: dict[_Unit, Plans] = {}
    for unit in units:
        try:
            plans_of[unit] = _plans(unit, draft)
        except Refused as refused:
            refused.node = refused.node or _first_node(unit)
            unit.stays = refused
    senders = [unit for unit in units if INFER in unit.kinds]
    draft.keeps_handed = any(unit.stays and _is_handed(unit) for unit in senders)
    reasons = [unit.stays for unit in senders if unit.stays]
    draft.formats_stay |= bool(reasons)
    if draft.formats_stay and (draft.has_classes or draft.has("TS081", "TS086", "TS115")):
        for unit in senders:
            unit.stays = unit.stays or _shared(unit, draft)
    for unit in units:
        if unit.stays:
            _leave(unit, unit.stays, draft)
    known = (item for unit in units if not unit.stays for item in plans_of[unit])
    plans = [(node, plan) for node, plan in known if node not in draft.outcomes]
    for node, plan in (*_constants(draft, plans, any(unit.stays for unit in units)), *plans):
        carry_out(plan, node, draft)


def _first_node(unit: _Unit) -> ast.AST:
    """Return the first use in a unit."""
    return unit.groups[0].creations[0] if unit.groups else unit.sites[0].whole


def _is_handed(unit: _Unit) -> bool:
    """True if other code makes or gets contexts for requests of a unit."""
    senders = [group for group in unit.groups if group.kind == INFER]
    return bool(unit.kind and unit.sites) or any(group.escapes for group in senders)


def _shared(unit: _Unit, draft: Draft) -> Refused | None:
    """Return why a unit stays with others: formats in a variable may be those of all contexts."""
    calls = {call for group in unit.groups for call in group.calls}
    for site in draft.sites:
        if site.id in REQUESTS and site.call in calls:
            outputs = arguments(PARAMETERS[site.id], site.call).get("outputs")
            if outputs and hidden_formats(outputs, draft):
                return Refused(_SHARED, node=site.call)
    return None


def _units(draft: Draft) -> list[_Unit]:
    """Return the units of a file."""
    groups = [group for group in draft.flows.groups if group.kind in CONTEXTS]
    lost, strays = _lost(draft, groups)
    takers = {site.call for site in draft.sites if _takes_regions(site, draft)}
    memory = _Unit([], [site for site in draft.sites if site.id in MEMORY])
    by_kind = {kind: _Unit([], strays.get(kind, []), kind, lost.get(kind)) for kind in CONTEXTS}
    for unit in by_kind.values():
        if unit.stays and not takers.isdisjoint(site.call for site in unit.sites):
            memory.stays = unit.stays
    if memory.sites and draft.beside.kept & {Keeps.REQUESTS, Keeps.REGIONS}:
        memory.stays = _first(MEMORY, _HANDED, draft)
    alone = []
    for group in groups:
        unit = by_kind[group.kind]
        if not takers.isdisjoint(group.calls):
            memory.groups.append(group)
            memory.stays = memory.stays or unit.stays
            if unit.sites and not unit.stays:
                memory.stays = unit.stays = Refused(_APART, node=group.creations[0])
        elif unit.stays or unit.sites:
            unit.groups.append(group)
        else:
            alone.append(_Unit([group]))
    return [*alone, memory, *by_kind.values()]


def _takes_regions(site: Site, draft: Draft) -> bool:
    """True if a use takes a handle of shared memory, or a request may have one."""
    if site.id in REQUESTS and site.call is not None:
        return has_regions(site.call, arguments(PARAMETERS[site.id], site.call), draft)
    return site.id in ("TS041", "TS042", "TS043")


def _lost(draft: Draft, groups: list[Group]) -> tuple[dict[str, Refused], dict[str, list[Site]]]:
    """Return why the contexts of a class stay, and the uses of a class outside of groups.

    With such uses all contexts for requests become objects.
    """
    known: set[ast.AST] = {x for group in groups for x in (*group.creations, *group.calls)}
    known.update(x for group in groups if group.kind != INFER for x in group.taken)
    known.update(site.whole for site in draft.sites if _is_held(site))
    senders = [group for group in groups if group.kind == INFER]
    strays: dict[str, list[Site]] = {}
    for site in draft.sites:
        symbol = ENTRIES[site.id].symbol
        owner = symbol if symbol in CONTEXTS else symbol.rpartition(".")[0]
        is_method = owner != symbol and site.id in (*METHODS, *BY_HAND)
        if owner not in CONTEXTS or site.whole in known or not (is_method or owner == symbol):
            continue
        if site.id == "TS055" and site.call and len(senders) == 1:  # a future is enough
            senders[0].calls.append(site.call)
            continue
        strays.setdefault(owner, []).append(site)
    lost = {kind: _unknown(kind, sites) for kind, sites in strays.items()}
    if draft.options.allows(UnsafeChange.OBJECT):
        lost.pop(INFER, None)
    unreadable = _refusal(FORMS, draft)
    for kind, sites in strays.items():
        lost.update((kind, _own_method(site)) for site in sites if _may_be_own(site, draft))
    if draft.beside.starts or unreadable:
        lost[INFER] = unreadable or _first(("TS050",), _STARTS, draft)
    for kind in CONTEXTS:
        if kind.rpartition(".")[2] in draft.beside.replaced:
            lost[kind] = _first((CREATIONS[kind],), _REPLACED, draft)
    handler = _handler_of_files(draft)
    if handler is not None and any(_may_speak_http(group, draft) for group in groups):
        lost = {kind: Refused(FILES, node=handler) for kind in CONTEXTS}
    if draft.errors_stay:
        reason = _CAUGHT if Keeps.ERRORS in draft.beside.kept else _ERRORS
        lost = dict.fromkeys(CONTEXTS, _first(("TS016", "TS017"), reason, draft))
    return lost, strays


def _may_be_own(site: Site, draft: Draft) -> bool:
    """True for a method of an unknown object that classes of the program have, too."""
    name = last_name(site.node)
    is_unknown = isinstance(site.node, ast.Attribute) and not draft.evaluator.of(site.node)
    return is_unknown and name in UNMISTAKABLE and name in draft.own_methods


def _own_method(site: Site) -> Refused:
    """Return why an unknown object stays whose method classes of the program have, too."""
    return Refused(_OWN_METHOD.format(last_name(site.node)), node=site.whole)


def _handler_of_files(draft: Draft) -> ast.AST | None:
    """Return a use of v1's exception in a ``try`` that may raise errors of files, too."""
    handlers = (site.node for site in draft.sites if site.id == "TS015")
    return next((node for node in handlers if catches_files(node, draft)), None)


def _may_speak_http(group: Group, draft: Draft) -> bool:
    """True unless all contexts of a group speak gRPC."""
    for call in group.creations:
        arguments_of = arguments(PARAMETERS[CREATIONS[group.kind]], call)
        protocol = arguments_of.get("protocol")
        if protocol is None or protocol_of(protocol, draft) != "grpc":
            return True
    return False


def _unknown(kind: str, strays: list[Site]) -> Refused:
    """Return why contexts stay of which other code makes or gets some."""
    handed_on = [site.node for site in strays if site.call is None and site.id in METHODS]
    if handed_on:
        return Refused(_METHOD_ITSELF, node=handed_on[0])
    if kind == INFER:
        return Refused(reason_of([UnsafeChange.OBJECT]), by_option=True, node=strays[0].whole)
    return Refused(_UNKNOWN, node=strays[0].whole)


def _first(ids: Collection[str], reason: str, draft: Draft) -> Refused:
    """Return a reason at the first use with one of these ids, or else at the first use."""
    nodes = [site.whole for site in draft.sites if site.id in ids]
    return Refused(reason, node=[*nodes, draft.sites[0].whole][0])


def _is_held(site: Site) -> bool:
    """True for a call of a variable that has a method, which may get another name."""
    return site.id in RENAMED and isinstance(site.node, ast.Name)


def _refusal(ids: Iterable[str], draft: Draft) -> Refused | None:
    """Return why a constant with one of these ids cannot be rewritten; None if all can.

    Requests for classes say themselves that they need an option.
    """
    for site in draft.sites:
        try:
            if site.id in ids:
                planned(_CONSTANTS[site.id], site.whole, draft)
        except Refused as refused:
            if site.id != "TS063" or not refused.by_option:
                refused.node = site.node
                return refused
    return None


def _leave(unit: _Unit, stays: Refused, draft: Draft) -> None:
    """Record that a unit stays: the reason at its node, a reference at other uses."""
    assert stays.node is not None
    draft.refuse(stays.node, stays)
    if any(site.id in MEMORY for site in unit.sites):
        draft.kept.add("tensorrtserver.shared_memory")
    if STATUS in unit.kinds:
        draft.kept.add(CONFIGS)
    calls = {call for group in unit.groups for call in (*group.creations, *group.calls)}
    place = draft.source.place(getattr(stays.node, "lineno", 1))
    for site in draft.sites:
        is_constant = site.id in (*FORMATS, *PROTOCOLS)
        around = draft.flows.around(site.node) if is_constant else [site.call]
        if site in unit.sites or not calls.isdisjoint(around):
            draft.todo(site.whole, f"stays because of {place}: {stays}", comment=False)


def _constants(draft: Draft, plans: Plans, is_partial: bool) -> Plans:
    """Return plans for formats, flags and protocols. What contexts that stay may need stays."""
    changed = {node for node, _ in plans}
    kept = Refused(_KEPT, by_option=True)
    reason = kept if is_partial or draft.protocols_stay else _refusal(PROTOCOLS, draft)
    if not reason and draft.shows(is_protocol):
        reason = Refused("print a name of your own in place of the protocol")
    if not reason and any(map(is_test, draft.parents_of(is_protocol))):
        reason = Refused("compare the protocol by ==: its name is true, and no object of its own")
    reasons = dict.fromkeys(PROTOCOLS, reason) if reason else {}
    if draft.formats_stay:
        reasons.update(dict.fromkeys(FORMS, kept))
    constants: Plans = []
    for site in draft.sites:
        node = site.whole
        if site.id not in _CONSTANTS or draft.outcome(site):
            continue
        is_outside = changed.isdisjoint(draft.flows.around(node))
        try:
            if site.id in reasons and is_outside:
                raise reasons[site.id]
            plan = planned(_CONSTANTS[site.id], node, draft)
        except Refused as refused:
            draft.todo(node, str(refused), not refused.by_option)
            continue
        if is_outside and draft.beside.linked:
            row = UnsafeChange.PROTOCOL_NAME if site.id in PROTOCOLS else UnsafeChange.FORMAT_NUMBER
            plan = replace(plan, unsafe=(*plan.unsafe, row))
        constants.append((node, plan))
    return constants


def _plans(unit: _Unit, draft: Draft) -> Plans:
    """Return the plans for all uses in a unit. Raise Refused if one cannot be rewritten."""
    if unit.stays:
        raise unit.stays
    if Keeps.HANDED in draft.beside.kept and INFER in unit.kinds:
        starts = any(Contexts(group, draft).starts for group in unit.groups)
        if starts or _is_handed(unit):  # callbacks of other files get contexts, too
            raise Refused(_KEPT_ELSEWHERE, node=_first_node(unit))
    renamed = {site.node: site.id for site in draft.sites if site.id in RENAMED}
    plans: Plans = []
    for group in unit.groups:
        if draft.has_processes and _may_be_inherited(group, draft):
            raise Refused(_INHERITED, node=group.creations[0])
        taken = [node for node in group.taken if node in renamed]
        unknown = [*group.escapes, *(node for node in group.taken if node not in renamed)]
        if group.kind != INFER and unknown:
            is_text = any(isinstance(x, ast.JoinedStr) for x in draft.flows.around(unknown[0]))
            raise Refused(_IN_TEXT if is_text else _HANDED_ON, node=unknown[0])
        closed = call_after_close(group, draft)
        unsafe = (UnsafeChange.CLOSED,) if closed else ()
        _check_allowed(unsafe, closed, draft)
        contexts = _contexts(group, unit, draft)
        id = CREATIONS[group.kind]
        for call in group.creations:
            plan = _at(call, client, draft, contexts, id)
            plans.append((call, replace(plan, unsafe=(*plan.unsafe, *unsafe))))
        plans += [(call, _use(call, draft, contexts)) for call in group.calls]
        plans += [(x, _at(x, METHODS[renamed[x]], draft, contexts)) for x in taken]
        if taken:
            plans += [(x.whole, Plan(what="the same")) for x in draft.sites if _is_held(x)]
    strays = {site.whole: site for site in unit.sites}
    return plans + [(node, _at(node, _stray, draft, strays[node])) for node in strays]


def _check_allowed(changes: tuple[UnsafeChange, ...], node: ast.AST | None, draft: Draft) -> None:
    """Raise Refused, with a node, if the options do not allow unsafe changes."""
    try:
        refuse_unless_allowed(changes, draft)
    except Refused as refused:
        refused.node = node
        raise


def _may_be_inherited(group: Group, draft: Draft) -> bool:
    """True if a process may use contexts that its parent has made.

    It makes them itself in the function that uses them, or in a function that it starts with.
    """
    places = draft.evaluator.scopes.places
    called = {last_name(call.func) for call in draft.evaluator.scopes.calls}
    scopes = {places[call].scope for call in group.creations}
    if len(scopes) == 1 and all(places[call].scope in scopes for call in group.calls):
        return bool(group.escapes) or "fork" in called
    names = {getattr(scope.node, "name", "__init__") for scope in scopes}
    return "__init__" in names or not called.isdisjoint(names)


def _contexts(group: Group, unit: _Unit, draft: Draft) -> Contexts:
    """Return what contexts become: clients, or objects that know their model."""
    if group.kind != INFER:
        return Contexts(group, draft)
    if unit.kind or group.escapes:
        return Contexts(group, draft, Form.OBJECT, escapes=True)
    return Contexts(group, draft, form_of(group, draft))


def _use(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """Return the plan for a call of a context's method."""
    for id in [site.id for site in draft.sites if site.call is call]:
        if id in METHODS:
            return _at(call, METHODS[id], draft, contexts)
        if id in BY_HAND:
            raise Refused(BY_HAND[id], node=call)
    if last_name(call.func) in _NEUTRAL:
        variable = contexts.client(owner(call))
        return Plan("{0}.close()" if variable else "", [variable], "close() of the client")
    raise Refused(f"no client has a method {last_name(call.func)}", node=call)


def _stray(node: ast.AST, draft: Draft, site: Site) -> Plan:
    """Return the plan for a use that belongs to no group."""
    if site.id in MEMORY:
        return MEMORY[site.id](node, draft)
    if site.id in BY_HAND:
        raise Refused(BY_HAND[site.id])
    if site.id in METHODS:
        if not isinstance(node, ast.Call):
            raise Refused(_METHOD_ITSELF)
        if first_parameter(node, draft.evaluator):
            if last_name(node.func) not in ("run", "correlation_id"):
                raise Refused("call the method of a context, not of its class")
            return class_itself(site.node, draft)
        plan = METHODS[site.id](node, draft, Contexts(Group(INFER), draft, Form.OBJECT))
        return replace(plan, unsafe=(*plan.unsafe, UnsafeChange.OBJECT))
    owner = draft.evaluator.of(getattr(site.node, "value", site.node))
    is_method = CLASS in owner and getattr(site.node, "attr", "") not in ("", "__init__")
    if isinstance(node, ast.Call) and not is_method:  # of the constructor
        made = Contexts(Group(INFER, [node]), draft, Form.OBJECT, escapes=True)
        return client(node, draft, made, site.id)
    return class_itself(site.node, draft)


def _at(node: ast.AST, rule: Callable[..., Plan], draft: Draft, *more: object) -> Plan:
    """Return the plan of a rule for a node. Raise Refused, with a node, if the rule refuses."""
    whole = {*METHODS, *CREATIONS.values(), *MEMORY}
    ids = {site.id for site in draft.sites if site.whole is node} & whole
    try:
        return planned(rule, node, draft, *more, ids=ids)
    except Refused as refused:
        refused.node = refused.node or node
        raise

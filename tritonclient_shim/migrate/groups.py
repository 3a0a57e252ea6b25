"""Contexts with all their uses: rewritten as a whole, or left as they are.

A unit is what is decided together: the contexts that one expression can stand for, all users of
shared memory, or all contexts of a class whose objects come from elsewhere. First each unit is
planned alone. Then the units that stay decide what else stays.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from tritonclient_shim.migrate.annotations import annotation, annotations_of
from tritonclient_shim.migrate.closing import call_after_close
from tritonclient_shim.migrate.decisions import (
    Keep,
    Plan,
    Plans,
    Refused,
    keep,
    refuse_unless_allowed,
    unchanged,
)
from tritonclient_shim.migrate.facts import CONFIGS, FileFacts
from tritonclient_shim.migrate.flows import CLOSING, CONTEXTS, Group
from tritonclient_shim.migrate.keeps import Keeps
from tritonclient_shim.migrate.new_processes import functions_of_processes
from tritonclient_shim.migrate.options import SiteOutcome, State
from tritonclient_shim.migrate.rules import (
    BY_HAND,
    CREATIONS,
    FORMATS,
    MEMORY,
    METHODS,
    PROTOCOLS,
    RENAMED,
    planned,
)
from tritonclient_shim.migrate.rules.contexts import class_itself, client
from tritonclient_shim.migrate.rules.infer import has_regions, hidden_formats, refused_arrays
from tritonclient_shim.migrate.rules.models import CLASS, REQUESTS, Contexts, Form, form_of
from tritonclient_shim.migrate.rules.names import (
    FORMS,
    is_certain_identity,
    is_protocol,
    is_test,
)
from tritonclient_shim.migrate.unsafe import UnsafeChange, numbers_of, reason_of
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.sites import UNMISTAKABLE, Site, arguments, first_parameter
from tritonclient_shim.scan.values import BoundMethod

INFER = f"{API}.InferContext"
STATUS = f"{API}.ServerStatusContext"
_NEUTRAL = CLOSING | {"__enter__"}
_CONSTANTS = {**FORMATS, **PROTOCOLS}
_UNKNOWN = "create the context in the file that uses it"
_METHOD_ITSELF = "write `lambda: {0}(…)` with its arguments in place of `{0}`"
_SHARED = "write its outputs, with their formats, in the call: a context that stays has them, too"
_APART = "use contexts with shared memory apart from classes that derive from them"
_ERRORS = "drop the ids of errors: only v1 had them"
_STARTS = "import v1 in all files that start or fetch asynchronous requests: {} does, without it"
_ERRORS_ELSEWHERE = "{} reads the ids of errors, which only v1's have"
_INHERITED = "connect in the process that sends: a forked one cannot use its parent's connection"
_REPLACED = "{} may replace the class in this file"
_OWN_METHOD = "a class of the program has a method {}, too; give that method another name"
_HANDED_ON = "code that gets it may expect v1's context"
_IN_TEXT = "print a name of your own in place of the context"
_IS = "compare the protocol with `==`, not with `is`: it becomes a text"
_TRUTH = "compare the protocol with `==` and a protocol: it becomes a text, which is always true"
#: The outcome of a use, by its node, or by the call that it is a part of.
Outcomes = Mapping[ast.AST, SiteOutcome]


@dataclass(frozen=True)
class _Unit:
    """Contexts and other uses that are rewritten together, or not at all.

    ``sites``: those that belong to no group. ``kind``: the class of all contexts whose objects come
    from elsewhere, too. ``stays``: why they are not rewritten.
    """

    groups: tuple[Group, ...]
    sites: tuple[Site, ...] = ()
    kind: str = ""
    stays: Keep | None = None

    @property
    def kinds(self) -> set[str]:
        """Return the classes of the contexts."""
        return {group.kind for group in self.groups} | ({self.kind} if self.sites else set())

    @property
    def first_node(self) -> ast.AST:
        """Return the first use."""
        return self.groups[0].creations[0] if self.groups else self.sites[0].whole

    @property
    def is_handed(self) -> bool:
        """True if other code makes or gets contexts for requests."""
        senders = [group for group in self.groups if group.kind == INFER]
        return bool(self.kind and self.sites) or any(group.escapes for group in senders)


@dataclass(frozen=True)
class _PlannedUnit:
    """A unit, and the plans for its uses: for those before the one that stays, if it stays."""

    unit: _Unit
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
    units = [_planned_unit(unit, facts) for unit in _units(facts)]
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
    reasons = _reasons_of_constants(
        facts, formats_stay, [unit.stays for unit in staying if unit.stays]
    )
    constants, left = _constants(facts, plans, left, reasons)
    return UnitPlans(
        plans=(*constants, *plans),
        tried=tuple(plan for item in units for _, plan in item.plans),
        left=left,
        kept=frozenset().union(*map(_kept_modules, staying)),
        formats_stay=formats_stay,
        keeps_handed=keeps_handed,
    )


def _planned_unit(unit: _Unit, facts: FileFacts) -> _PlannedUnit:
    """Plan the uses in a unit until one stays: then all stay."""
    plans: list[tuple[ast.AST, Plan]] = []
    if unit.stays:
        return _PlannedUnit(unit, ())
    try:
        for item in _plans(unit, facts):
            plans.append(item)
    except Refused as refused:
        unit = replace(unit, stays=keep(refused, unit.first_node))
    return _PlannedUnit(unit, tuple(plans))


def _with_formats(item: _PlannedUnit, facts: FileFacts) -> _PlannedUnit:
    """Return a unit that stays with others if its formats in variables may be theirs."""
    if item.unit.stays or INFER not in item.unit.kinds:
        return item
    return replace(item, unit=replace(item.unit, stays=_shared(item.unit, facts)))


def _shared(unit: _Unit, facts: FileFacts) -> Keep | None:
    """Return why a unit stays with others: formats in a variable may be those of all contexts."""
    calls = {call for group in unit.groups for call in group.calls}
    for site in facts.sites:
        if site.id in REQUESTS and site.call in calls:
            outputs = arguments(PARAMETERS[site.id], site.call).get("outputs")
            if outputs and hidden_formats(outputs, facts):
                return Keep(_SHARED, site.call)
    return None


def _units(facts: FileFacts) -> list[_Unit]:
    """Return the units of a file."""
    groups = _groups(facts)
    strays = _strays(facts, groups)
    lost = _lost(facts, groups, strays)
    takers = {site.whole for site in facts.sites if _takes_regions(site, facts)}
    memory = _Unit((), tuple(site for site in facts.sites if site.id in MEMORY))
    by_kind: dict[str, _Unit] = {}
    for kind in CONTEXTS:
        unit = _Unit((), tuple(strays.get(kind, ())), kind, lost.get(kind))
        by_kind[kind] = unit
        if unit.stays and not takers.isdisjoint(site.whole for site in unit.sites):
            memory = replace(memory, stays=unit.stays)
    if memory.sites and facts.beside.kept & {Keeps.REQUESTS, Keeps.REGIONS}:
        reason = facts.beside.reason_of(Keeps.REGIONS, Keeps.REQUESTS)
        memory = replace(memory, stays=_first(MEMORY, reason, facts))
    alone = []
    for group in groups:
        unit = by_kind[group.kind]
        if not takers.isdisjoint(group.calls):
            stays = memory.stays or unit.stays
            if unit.sites and not unit.stays:
                stays = Keep(_APART, group.creations[0])
                by_kind[group.kind] = replace(unit, stays=stays)
            memory = replace(memory, groups=(*memory.groups, group), stays=stays)
        elif unit.stays or unit.sites:
            by_kind[group.kind] = replace(unit, groups=(*unit.groups, group))
        else:
            alone.append(_Unit((group,)))
    return [*alone, memory, *by_kind.values()]


def _groups(facts: FileFacts) -> list[Group]:
    """Return the groups of contexts. Results that nobody else fetches are of the only sender."""
    groups = [group for group in facts.flows.groups if group.kind in CONTEXTS]
    senders = [group for group in groups if group.kind == INFER]
    if len(senders) != 1:
        return groups
    strays = [site.call for site in _strays_of(groups, facts) if site.id == "TS055" and site.call]
    sender = replace(senders[0], calls=(*senders[0].calls, *strays))  # a future is enough
    return [sender if group is senders[0] else group for group in groups]


def _takes_regions(site: Site, facts: FileFacts) -> bool:
    """True if a use takes a handle of shared memory, or a request may have one.

    A method that is handed on may get one, too.
    """
    if site.id in REQUESTS:
        if site.call is None:
            return True
        return has_regions(site.call, arguments(PARAMETERS[site.id], site.call), facts)
    return site.id in ("TS041", "TS042", "TS043")


def _strays_of(groups: list[Group], facts: FileFacts) -> Iterator[Site]:
    """Yield the uses of the classes of contexts that are in none of the groups."""
    known: set[ast.AST] = {x for group in groups for x in (*group.creations, *group.calls)}
    known.update(x for group in groups if group.kind != INFER for x in group.taken)
    known.update(site.whole for site in facts.sites if _is_held(site))
    for group in groups:
        known.update(annotations_of(group, facts))
    for site in facts.sites:
        symbol = ENTRIES[site.id].symbol
        is_method = _class_of(site) != symbol and site.id in (*METHODS, *BY_HAND)
        is_of_class = is_method or _class_of(site) == symbol
        if _class_of(site) in CONTEXTS and site.whole not in known and is_of_class:
            yield site


def _class_of(site: Site) -> str:
    """Return the class that a use is of, or whose method it is."""
    symbol = ENTRIES[site.id].symbol
    return symbol if symbol in CONTEXTS else symbol.rpartition(".")[0]


def _strays(facts: FileFacts, groups: list[Group]) -> dict[str, list[Site]]:
    """Return the uses of each class of contexts outside of groups.

    With such uses all contexts for requests become objects.
    """
    strays: dict[str, list[Site]] = {}
    for site in _strays_of(groups, facts):
        strays.setdefault(_class_of(site), []).append(site)
    return strays


def _lost(
    facts: FileFacts, groups: list[Group], strays: Mapping[str, list[Site]]
) -> dict[str, Keep]:
    """Return why all contexts of a class stay, for each class whose contexts do."""
    lost = {kind: _unknown(kind, sites, facts) for kind, sites in strays.items()}
    methods = _methods_handed_on(strays.get(INFER, []))
    are_known = all(_is_run_of_contexts(method, facts) for method in methods)
    if are_known and facts.options.allows(UnsafeChange.OBJECT):
        lost.pop(INFER, None)
    unreadable = _refusal(FORMS, facts)
    for kind, sites in strays.items():
        lost.update((kind, _own_method(site)) for site in sites if _may_be_own(site, facts))
    if facts.beside.starts or unreadable:
        places = facts.beside.starts or [""]
        lost[INFER] = unreadable or _first(("TS050",), _STARTS.format(places[0]), facts)
    for kind in CONTEXTS:
        place = facts.beside.replaced.get(kind.rpartition(".")[2])
        if place is not None:
            lost[kind] = _first((CREATIONS[kind],), _REPLACED.format(place), facts)
    if facts.errors_stay:
        lost = dict.fromkeys(CONTEXTS, _kept_for_errors(facts))
    return lost


def _kept_for_errors(facts: FileFacts) -> Keep:
    """Return why all contexts stay: for errors whose ids the program reads, or for other files."""
    reason = _ERRORS
    if not facts.has("TS016", "TS017") and facts.beside.asks_errors:
        reason = _ERRORS_ELSEWHERE.format(facts.beside.asks_errors[0])
    elif Keeps.ERRORS in facts.beside.kept:
        reason = facts.beside.reason_of(Keeps.ERRORS)
    return _first(("TS016", "TS017"), reason, facts)


def _may_be_own(site: Site, facts: FileFacts) -> bool:
    """True for a method of an unknown object that classes of the program have, too."""
    name = last_name(site.node)
    is_unknown = isinstance(site.node, ast.Attribute) and not facts.evaluator.of(site.node)
    return is_unknown and name in UNMISTAKABLE and name in facts.own_methods


def _own_method(site: Site) -> Keep:
    """Return why an unknown object stays whose method classes of the program have, too."""
    return Keep(_OWN_METHOD.format(last_name(site.node)), site.whole)


def _methods_handed_on(strays: list[Site]) -> list[ast.expr | ast.stmt]:
    """Return the methods of contexts that are read and not called."""
    return [site.node for site in strays if site.call is None and site.id in METHODS]


def _unknown(kind: str, strays: list[Site], facts: FileFacts) -> Keep:
    """Return why contexts stay of which other code makes or gets some."""
    methods = _methods_handed_on(strays)
    if methods:
        refusals = {method: _method_itself(method, facts) for method in methods}
        method = next((x for x in methods if not refusals[x].by_option), methods[0])
        return keep(refusals[method], method)
    if kind == INFER:
        return Keep(reason_of([UnsafeChange.OBJECT]), strays[0].whole, by_option=True)
    return Keep(_UNKNOWN, strays[0].whole)


def _first(ids: Collection[str], reason: str, facts: FileFacts) -> Keep:
    """Return a reason at the first use with one of these ids, or else at the first use."""
    nodes = [site.whole for site in facts.sites if site.id in ids]
    return Keep(reason, [*nodes, facts.sites[0].whole][0])


def _is_held(site: Site) -> bool:
    """True for a call of a variable that has a method, which may get another name."""
    return site.id in RENAMED and isinstance(site.node, ast.Name)


def _refusal(ids: Iterable[str], facts: FileFacts) -> Keep | None:
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


def _left(unit: _Unit, facts: FileFacts) -> dict[ast.AST, SiteOutcome]:
    """Return the outcomes of a unit that stays: its reason, and a reference at other uses."""
    assert unit.stays is not None
    calls = {call for group in unit.groups for call in (*group.creations, *group.calls)}
    annotations = {node for group in unit.groups for node in annotations_of(group, facts)}
    place = facts.source.place(getattr(unit.stays.node, "lineno", 1))
    reference = SiteOutcome(State.TODO, f"stays because of {place}: {unit.stays.reason}")
    left: dict[ast.AST, SiteOutcome] = {}
    for site in facts.sites:
        is_constant = site.id in (*FORMATS, *PROTOCOLS)
        around = facts.flows.around(site.node) if is_constant else [site.call]
        is_annotation = site.node in annotations
        if site in unit.sites or is_annotation or not calls.isdisjoint(around):
            left[site.whole] = reference
    return {**left, unit.stays.node: unit.stays.outcome}


def _kept_modules(unit: _Unit) -> set[str]:
    """Return the modules of v1 that stay for a unit."""
    kept = set()
    if any(site.id in MEMORY for site in unit.sites):
        kept.add("tensorrtserver.shared_memory")
    if STATUS in unit.kinds:
        kept.add(CONFIGS)
    return kept


def _constants(
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


def _reasons_of_constants(
    facts: FileFacts, formats_stay: bool, staying: Sequence[Keep]
) -> dict[str, Refused]:
    """Return why constants stay that are in no call that is rewritten, by their ids.

    What contexts that stay may need stays. ``staying``: why contexts of the file stay.
    """
    unreadable = _refusal(PROTOCOLS, facts)
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
        place = facts.source.place(getattr(staying[0].node, "lineno", 1))
        return Refused(f"stays because of {place}: {staying[0].reason}", by_option=True)
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


def outcome_of(site: Site, outcomes: Outcomes) -> SiteOutcome | None:
    """Return the outcome of a use; None if it is not decided."""
    own = outcomes.get(site.node)
    if own or site.call is None:
        return own
    return outcomes.get(site.call)


def _plans(unit: _Unit, facts: FileFacts) -> Iterator[tuple[ast.AST, Plan]]:
    """Yield the plans for all uses in a unit. Raise Refused at one that cannot be rewritten."""
    renamed = {site.node: site.id for site in facts.sites if site.id in RENAMED}
    for group in unit.groups:
        if facts.has_processes and _may_be_inherited(group, facts):
            raise Refused(_INHERITED, node=group.creations[0])
        taken = [node for node in group.taken if node in renamed]
        unknown = [*group.escapes, *(node for node in group.taken if node not in renamed)]
        if group.kind != INFER and unknown:
            is_text = any(isinstance(x, ast.JoinedStr) for x in facts.flows.around(unknown[0]))
            raise Refused(_IN_TEXT if is_text else _HANDED_ON, node=unknown[0])
        closed = call_after_close(group, facts)
        unsafe = (UnsafeChange.CLOSED,) if closed else ()
        _check_allowed(unsafe, closed, facts)
        contexts = _contexts(group, unit, facts)
        for call in group.creations:
            plan = _client(call, facts, contexts)
            yield call, replace(plan, unsafe=(*plan.unsafe, *unsafe))
        for call in group.calls:
            yield call, _use(call, facts, contexts)
        for name in annotations_of(group, facts):
            yield name, _at(name, annotation, facts, contexts)
        for method in taken:
            yield method, _at(method, METHODS[renamed[method]], facts, contexts)
        for site in facts.sites:
            if taken and _is_held(site):
                yield site.whole, unchanged()
    strays = {site.whole: site for site in unit.sites}
    for node, site in strays.items():
        yield node, _at(node, _stray, facts, site)
    if Keeps.HANDED in facts.beside.kept and INFER in unit.kinds:
        starts = any(Contexts(group, facts).starts for group in unit.groups)
        if starts or unit.is_handed:  # callbacks of other files get contexts, too
            raise Refused(facts.beside.reason_of(Keeps.HANDED), node=unit.first_node)


def _client(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
    """Return the plan for a context. The reason to refuse names what gets the context."""
    group = contexts.group
    try:
        return _at(call, client, facts, contexts, CREATIONS[group.kind])
    except Refused as refused:
        if not group.escapes:
            raise
        place = facts.source.place(getattr(group.escapes[0], "lineno", call.lineno))
        reason = str(refused).replace("that code", f"the code that gets it in {place}")
        raise Refused(reason, refused.by_option, refused.node) from None


def _check_allowed(
    changes: tuple[UnsafeChange, ...], node: ast.AST | None, facts: FileFacts
) -> None:
    """Raise Refused, with a node, if the options do not allow unsafe changes."""
    try:
        refuse_unless_allowed(changes, facts.options)
    except Refused as refused:
        refused.node = node
        raise


def _may_be_inherited(group: Group, facts: FileFacts) -> bool:
    """True if a process may use contexts that its parent has made.

    It makes them itself in the function that uses them, or in a function that only new processes
    call.
    """
    places = facts.evaluator.scopes.places
    called = {last_name(call.func) for call in facts.evaluator.scopes.calls}
    scopes = {places[call].scope for call in group.creations}
    if len(scopes) == 1 and all(places[call].scope in scopes for call in group.calls):
        return bool(group.escapes) or "fork" in called
    names = {getattr(scope.node, "name", "__init__") for scope in scopes}
    names -= functions_of_processes(facts)
    return "__init__" in names or not called.isdisjoint(names)


def _contexts(group: Group, unit: _Unit, facts: FileFacts) -> Contexts:
    """Return what contexts become: clients, or objects that know their model."""
    if group.kind != INFER:
        return Contexts(group, facts)
    if unit.kind or group.escapes:
        return Contexts(group, facts, Form.OBJECT, escapes=True)
    return Contexts(group, facts, form_of(group, facts))


def _use(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
    """Return the plan for a call of a context's method."""
    for id in [site.id for site in facts.sites if site.call is call]:
        if id in METHODS:
            return _at(call, METHODS[id], facts, contexts)
        if id in BY_HAND:
            raise Refused(BY_HAND[id], node=call)
    if last_name(call.func) in _NEUTRAL:
        return unchanged("close() of the client")
    raise Refused(f"no client has a method {last_name(call.func)}", node=call)


def _stray(node: ast.AST, facts: FileFacts, site: Site) -> Plan:
    """Return the plan for a use that belongs to no group."""
    if site.id in MEMORY:
        return MEMORY[site.id](node, facts)
    if site.id in BY_HAND:
        raise Refused(BY_HAND[site.id])
    if site.id in METHODS:
        if not isinstance(node, ast.Call):
            return _run_itself(node, facts)
        if first_parameter(node, facts.evaluator):
            if last_name(node.func) not in ("run", "correlation_id"):
                raise Refused("call the method of a context, not of its class")
            return class_itself(site.node, facts)
        unknown = Contexts(Group(INFER), facts, Form.OBJECT, escapes=True)
        plan = METHODS[site.id](node, facts, unknown)
        return replace(plan, unsafe=(*plan.unsafe, UnsafeChange.OBJECT))
    owner = facts.evaluator.of(getattr(site.node, "value", site.node))
    is_method = CLASS in owner and getattr(site.node, "attr", "") not in ("", "__init__")
    if isinstance(node, ast.Call) and not is_method:  # of the constructor
        made = Contexts(Group(INFER, (node,)), facts, Form.OBJECT, escapes=True)
        return client(node, facts, made, site.id)
    return class_itself(site.node, facts)


def _method_itself(node: ast.AST, facts: FileFacts) -> Refused:
    """Return why a method that is handed on stays, unless an option rewrites it."""
    reason = _METHOD_ITSELF.format(" ".join(facts.text(node).split()))
    is_known = _is_run_of_contexts(node, facts)
    rows = numbers_of([UnsafeChange.OBJECT])
    return Refused(f"{reason}; --unsafe rewrites it ({rows})" if is_known else reason, is_known)


def _is_run_of_contexts(node: ast.AST, facts: FileFacts) -> bool:
    """True for the method ``run`` that is handed on, if that of an object does for it.

    Outputs of another file, and tensors in shared memory, may be none that the object takes.
    """
    values = facts.evaluator.of(node)
    methods = [value for value in values if isinstance(value, BoundMethod)]
    is_run = len(methods) == len(values) and {value.name for value in methods} == {"run"}
    is_asked = isinstance(facts.flows.parents[node], ast.Attribute)
    may_have_regions = facts.beside.has_regions or facts.has("TS040", "TS081", "TS086")
    return is_run and not (is_asked or may_have_regions or facts.beside.linked)


def _run_itself(node: ast.AST, facts: FileFacts) -> Plan:
    """Return the plan for a method that is handed on."""
    if not _is_run_of_contexts(node, facts):
        raise _method_itself(node, facts)
    unsafe = [UnsafeChange.DECIMALS] if facts.has_classes else []
    unsafe += [UnsafeChange.OBJECT, *refused_arrays(facts)]
    return unchanged("run of an InferModel", tuple(unsafe))


def _at(node: ast.AST, rule: Callable[..., Plan], facts: FileFacts, *more: object) -> Plan:
    """Return the plan of a rule for a node. Raise Refused, with a node, if the rule refuses."""
    whole = {*METHODS, *CREATIONS.values(), *MEMORY}
    ids = {site.id for site in facts.sites if site.whole is node} & whole
    try:
        return planned(rule, node, facts, *more, ids=ids)
    except Refused as refused:
        raise Refused(str(refused), refused.by_option, refused.node or node) from None

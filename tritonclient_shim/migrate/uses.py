"""The uses in a unit: what each of them becomes, if all can be rewritten."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Callable, Iterator

from tritonclient_shim.migrate.annotations import annotation, annotations_of
from tritonclient_shim.migrate.closing import call_after_close
from tritonclient_shim.migrate.decisions import Plan, Refused, refuse_unless_allowed, unchanged
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.flows import CLOSING, Group
from tritonclient_shim.migrate.keeps import Keeps
from tritonclient_shim.migrate.new_processes import functions_of_processes
from tritonclient_shim.migrate.rules import BY_HAND, CREATIONS, MEMORY, METHODS, RENAMED, planned
from tritonclient_shim.migrate.rules.contexts import class_itself, client
from tritonclient_shim.migrate.rules.infer import refused_arrays
from tritonclient_shim.migrate.rules.models import CLASS, Contexts, Form, form_of
from tritonclient_shim.migrate.units import INFER, Unit, is_held, is_run_of_contexts, method_itself
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.sites import Site, first_parameter

_NEUTRAL = CLOSING | {"__enter__"}
_INHERITED = "connect in the process that sends: a forked one cannot use its parent's connection"
_HANDED_ON = "code that gets it may expect v1's context"
_IN_TEXT = "print a name of your own in place of the context"


def plans_of_uses(unit: Unit, facts: FileFacts) -> Iterator[tuple[ast.AST, Plan]]:
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
            if taken and is_held(site):
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


def _contexts(group: Group, unit: Unit, facts: FileFacts) -> Contexts:
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


def _run_itself(node: ast.AST, facts: FileFacts) -> Plan:
    """Return the plan for a method that is handed on."""
    if not is_run_of_contexts(node, facts):
        raise method_itself(node, facts)
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

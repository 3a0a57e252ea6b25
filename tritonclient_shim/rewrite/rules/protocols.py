"""Find the protocol of a context's argument."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.values import Instance, Symbol, Value
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.plan import Plan

PROTOCOLS = ("http", "grpc")  # by v1's numbers
CLASS = Symbol(f"{API}.ProtocolType")
_MEMBERS = {Symbol(f"{API}.ProtocolType.{name.upper()}"): name for name in PROTOCOLS}


def needs_class(draft: Draft) -> bool:
    """True if a protocol cannot become text: it is printed, or goes to or from another file."""
    bare = (site.node for site in draft.sites if site.id == "TS010")
    is_class = any(CLASS in draft.evaluator.of(node) for node in bare)
    return is_class or draft.beside.linked or draft.shows(_is_protocol)


def of_class(node: ast.AST, draft: Draft) -> Plan:
    """Keep a use of v1's class of protocols, with the class of the helpers."""
    target = node.func if isinstance(node, ast.Call) else node
    while isinstance(target, ast.Attribute) and CLASS not in draft.evaluator.of(target):
        target = target.value
    if CLASS not in draft.evaluator.of(target):
        raise Refused("write the protocol as ProtocolType.GRPC or ProtocolType.HTTP")
    name = "ProtocolType"

    def carry_out() -> None:
        draft.need(name)
        if draft.text(target) != name:
            draft.replace(target, name)

    return Plan(carry_out, "ProtocolType, a class of the file")


def _is_protocol(value: Value) -> bool:
    name = getattr(value, "name", getattr(value, "of", ""))
    return str(name).startswith(CLASS.name)


def _named(value: Value) -> str:
    """Return the protocol of ``from_str("grpc")``, '' for any other value."""
    call = value.creation if isinstance(value, Instance) else None
    text = call.args[0] if call and call.args else None
    name = str(text.value).lower() if isinstance(text, ast.Constant) else ""
    return name if name in PROTOCOLS else ""


def _is_choice(node: ast.expr, draft: Draft) -> bool:
    """True if a condition or a key chooses one of several protocols."""
    nodes: list[ast.AST | None] = [node]
    if isinstance(node, ast.Name):
        nodes = [item.definition.node for item in draft.evaluator.scopes.bindings(node)]
    return all(isinstance(item, (ast.IfExp, ast.Subscript)) for item in nodes) or (
        len(nodes) > 1 and all(isinstance(item, ast.Attribute) for item in nodes)
    )


def protocol_of(node: ast.expr, draft: Draft) -> str:
    """Return ``grpc`` or ``http``; '' if the program chooses."""
    known = draft.constant(node)
    if known in (0, 1) and not isinstance(known, bool):
        return PROTOCOLS[int(str(known))]
    values = draft.evaluator.of(node)
    names = {_named(value) for value in values}
    if len(names) == 1 and names != {""}:
        return names.pop()
    members = {
        _MEMBERS[value] for value in values if isinstance(value, Symbol) and value in _MEMBERS
    }
    if isinstance(node, ast.Name):
        bindings = draft.evaluator.scopes.bindings(node)
        fixed = len(bindings) == 1 and isinstance(
            bindings[0].definition.node, (ast.Attribute, ast.Constant)
        )
    else:
        fixed = isinstance(node, ast.Attribute) and draft.evaluator.names(node)
    if fixed and len(members) == 1 and len(values) == 1:
        return members.pop()
    if draft.options.to and (len(members) < max(2, len(values)) or _is_choice(node, draft)):
        return draft.options.to  # unless the file uses each of several
    if not any(map(_is_protocol, values)) and not draft.options.unsafe:
        raise Refused("the protocol is not chosen in this file; --to grpc or --to http chooses")
    return ""

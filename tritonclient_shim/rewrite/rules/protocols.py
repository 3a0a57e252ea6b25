"""Find the protocol of a context's argument."""

from __future__ import annotations

import ast
from typing import Iterable, Mapping

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
    return is_class or draft.beside.linked or _printed(draft)


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
        draft.free(name)
        if draft.text(target) != name:
            draft.replace(target, name)

    return Plan(carry_out, "ProtocolType, a class of the file")


def _printed(draft: Draft) -> bool:
    """True if the file makes text of a protocol, which was ``ProtocolType.GRPC``."""
    for node, parent in draft.flows.parents.items():
        if isinstance(node, ast.expr) and _makes_text(node, parent):
            names = (
                getattr(item, "name", getattr(item, "of", "")) for item in draft.evaluator.of(node)
            )
            if any(name.startswith(f"{API}.ProtocolType") for name in names):
                return True
    return False


def _makes_text(node: ast.expr, parent: ast.AST) -> bool:
    if isinstance(parent, ast.Call) and node in parent.args:
        function = getattr(parent.func, "id", getattr(parent.func, "attr", ""))
        return function in _MAKING_TEXT
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("name", "value")
    return isinstance(parent, ast.FormattedValue) or (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod)
    )


_MAKING_TEXT = frozenset(
    ("str", "repr", "int", "print", "format")
    + ("debug", "info", "warning", "warn", "error", "exception", "critical", "log")
)


def _named(value: Value) -> str:
    """Return the protocol of ``from_str("grpc")``, '' for any other value."""
    call = value.creation if isinstance(value, Instance) else None
    text = call.args[0] if call and call.args else None
    name = str(text.value).lower() if isinstance(text, ast.Constant) else ""
    return name if name in PROTOCOLS else ""


def one_protocol(arguments: Iterable[Mapping[str, ast.expr]], draft: Draft) -> str:
    """Return the only protocol of such arguments; '' if there are several or none."""
    protocols = {
        protocol_of(context["protocol"], draft) for context in arguments if "protocol" in context
    }
    return protocols.pop() if len(protocols) == 1 else ""


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
    if draft.options.to and not (len(members) > 1 and len(members) == len(values)):
        return draft.options.to  # unless the file names each of several
    if not any(
        getattr(value, "name", getattr(value, "of", "")).startswith(f"{API}.ProtocolType")
        for value in values
    ):
        raise Refused("the protocol is not chosen in this file; --to grpc or --to http chooses")
    return ""

"""Which protocol an argument of a context stands for."""

from __future__ import annotations

import ast
from typing import Iterable, Mapping

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.values import Symbol
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused

PROTOCOLS = ("http", "grpc")  # by v1's numbers
_MEMBERS = {Symbol(f"{API}.ProtocolType.{name.upper()}"): name for name in PROTOCOLS}


def told(draft: Draft) -> bool:
    """Whether the file makes text of a protocol, which was ``ProtocolType.GRPC``."""
    for node in draft.evaluator.scopes.places:
        if isinstance(node, ast.expr) and _makes_text(node, draft.flows.parents[node]):
            names = (
                getattr(one, "name", getattr(one, "of", "")) for one in draft.evaluator.of(node)
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


def one_protocol(made: Iterable[Mapping[str, ast.expr]], draft: Draft) -> str:
    """The protocol of all contexts with such arguments; '' where there are more, or none."""
    found = {protocol_of(one["protocol"], draft) for one in made if "protocol" in one}
    return found.pop() if len(found) == 1 else ""


def protocol_of(node: ast.expr, draft: Draft) -> str:
    """``grpc`` or ``http``; '' where the program chooses."""
    known = draft.constant(node)
    if known in (0, 1) and not isinstance(known, bool):
        return PROTOCOLS[int(str(known))]
    values = draft.evaluator.of(node)
    members = {_MEMBERS[one] for one in values if isinstance(one, Symbol) and one in _MEMBERS}
    if isinstance(node, ast.Name):
        bindings = draft.bindings(node)
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
        getattr(one, "name", getattr(one, "of", "")).startswith(f"{API}.ProtocolType")
        for one in values
    ):
        raise Refused("the protocol is not chosen in this file; --to grpc or --to http chooses")
    return ""

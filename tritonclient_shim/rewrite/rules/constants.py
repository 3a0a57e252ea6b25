"""TS010, TS011, TS062, TS063, TS066: v1's constants, and the protocol of a context's argument."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.values import Instance, Symbol, Value
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.plan import Plan

PROTOCOLS = ("http", "grpc")  # by v1's numbers
FLAGS = ("FLAG_NONE", "FLAG_SEQUENCE_START", "FLAG_SEQUENCE_END")
_CLASS = f"{API}.ProtocolType"


# ------------------------------------------------------------------------------------- protocols


def is_protocol(value: Value) -> bool:
    """True if a value is v1's class of protocols, or one of them."""
    name = getattr(value, "name", getattr(value, "of", ""))
    return str(name).startswith(_CLASS)


def protocol(node: ast.AST, draft: Draft) -> Plan:
    """``ProtocolType.GRPC`` → ``"grpc"``; the class in an annotation → ``str``."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name in ("GRPC", "HTTP"):
        return Plan(lambda: draft.replace(node, f'"{name.lower()}"'), f'"{name.lower()}"')
    if isinstance(draft.flows.parents[node], (ast.arg, ast.AnnAssign)):
        return Plan(lambda: draft.replace(node, "str"), "str")
    raise Refused("write the protocol as ProtocolType.GRPC or ProtocolType.HTTP")


def protocol_from_text(call: ast.AST, draft: Draft) -> Plan:
    """``ProtocolType.from_str(text)`` → ``text.lower()``."""
    if isinstance(call, ast.Attribute):
        return Plan(lambda: draft.replace(call, "str.lower"), "the protocol's name in lower case")
    if not isinstance(call, ast.Call) or len(call.args) != 1:
        raise Refused("expected from_str(text)")
    known = _literal(call)
    if known:
        return Plan(lambda: draft.replace(call, f'"{known}"'), f'"{known}"')
    return Plan(
        lambda: draft.change(call, lambda old: f"{draft.primary(call.args[0])}.lower()"),
        "the protocol's name in lower case",
    )


def protocol_of(node: ast.expr, draft: Draft) -> str:
    """Return ``grpc`` or ``http``; '' if the program chooses."""
    number = draft.constant(node)
    if number in (0, 1) and not isinstance(number, bool):
        return PROTOCOLS[int(str(number))]
    values = draft.evaluator.of(node)
    names = set(map(_name_of, values))
    written = _assigned(node, draft)
    if len(names) == 1 and len(written) == 1 and _is_written(written[0], draft):
        name = names.pop()
        if name:
            return name
    is_choice = len(written) > 1 or isinstance(written[0], (ast.IfExp, ast.Subscript))
    if draft.options.to and (is_choice or "" in names or len(names) < 2):
        return draft.options.to  # unless the file uses each of several
    if not any(map(is_protocol, values)) and not draft.options.unsafe:
        raise Refused("the protocol is not chosen in this file; --to grpc or --to http chooses")
    return ""


def _assigned(node: ast.expr, draft: Draft) -> list[ast.AST | None]:
    """Return what is assigned to a variable, or the expression itself."""
    if not isinstance(node, ast.Name):
        return [node]
    return [item.definition.node for item in draft.evaluator.scopes.bindings(node)] or [None]


def _is_written(node: ast.AST | None, draft: Draft) -> bool:
    """True if an expression is a protocol itself: no attribute of an object may have it."""
    if isinstance(node, ast.Attribute):
        return bool(draft.evaluator.names(node))
    return isinstance(node, ast.Call)


def _name_of(value: Value) -> str:
    """Return ``grpc`` for v1's constant and ``from_str("grpc")``, '' for what is no protocol."""
    if isinstance(value, Symbol) and is_protocol(value):
        name = value.name.rpartition(".")[2].lower()
        return name if name in PROTOCOLS else ""
    return _literal(value.creation) if isinstance(value, Instance) and value.creation else ""


def _literal(call: ast.Call) -> str:
    """Return the protocol of ``from_str("gRPC")``; '' if its text is not written there."""
    text = call.args[0] if call.args else None
    name = str(text.value).lower() if isinstance(text, ast.Constant) else ""
    return name if name in PROTOCOLS else ""


# --------------------------------------------------------------------------- formats and flags


def output_format(node: ast.AST, draft: Draft) -> Plan:
    """``RAW`` → 0 classes, ``(CLASS, k)`` → k classes, ``(RAW, handle)`` → the region."""
    is_class = getattr(node, "attr", "") == "CLASS"
    pair = draft.flows.parents[node]
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2 or pair.elts[0] is not node:
        if is_class:
            raise Refused("write (ResultFormat.CLASS, number) where an output has classes")
        return Plan(lambda: draft.replace(node, "0"), "0 classes: the array")
    second = pair.elts[1]
    if not is_class and not draft.flows.of(second):
        raise Refused("create the region of the output in the file that uses it")

    def carry_out() -> None:
        draft.change(pair, lambda old: draft.new(second))

    if is_class:
        return Plan(carry_out, "class_count", "values come with six decimals")
    return Plan(carry_out, "the region")


def flag(node: ast.AST, draft: Draft) -> Plan:
    """``InferRequestHeader.FLAG_SEQUENCE_START`` → a number."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name not in FLAGS:
        raise Refused("pass sequence_start and sequence_end to the request")

    def carry_out() -> None:
        draft.need(name)
        draft.replace(node, name)

    return Plan(carry_out, "a constant of the file")

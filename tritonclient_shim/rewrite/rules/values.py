"""TS010, TS011, TS062, TS063, TS066: v1's constants."""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import PROTOCOLS, of_class

FLAGS = ("FLAG_NONE", "FLAG_SEQUENCE_START", "FLAG_SEQUENCE_END")


def protocol(node: ast.AST, draft: Draft) -> Plan:
    """``ProtocolType.GRPC`` → ``"grpc"``."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if draft.protocol_class:
        return of_class(node, draft)
    if name not in ("GRPC", "HTTP"):
        raise Refused("write the protocol as ProtocolType.GRPC or ProtocolType.HTTP")
    return Plan(lambda: draft.replace(node, f'"{name.lower()}"'), f'"{name.lower()}"')


def protocol_from_text(call: ast.AST, draft: Draft) -> Plan:
    """``ProtocolType.from_str(text)`` → ``text.lower()``."""
    if draft.protocol_class:
        return of_class(call, draft)
    if isinstance(call, ast.Attribute):
        return Plan(lambda: draft.replace(call, "str.lower"), "the protocol's name in lower case")
    if not isinstance(call, ast.Call) or len(call.args) != 1:
        raise Refused("expected from_str(text)")
    text = draft.constant(call.args[0]) if isinstance(call.args[0], ast.Constant) else ...
    if isinstance(text, str) and text.lower() in PROTOCOLS:
        name = f'"{text.lower()}"'
        return Plan(lambda: draft.replace(call, name), name)
    return Plan(
        lambda: draft.change(call, lambda old: f"{draft.primary(call.args[0])}.lower()"),
        "the protocol's name in lower case",
    )


def raw(node: ast.AST, draft: Draft) -> Plan:
    """``ResultFormat.RAW`` → 0 classes."""
    pair = draft.flows.parents[node]
    second = None
    if isinstance(pair, ast.Tuple) and len(pair.elts) == 2 and pair.elts[0] is node:
        second = pair.elts[1]
    if second is None:
        return Plan(lambda: draft.replace(node, "0"), "0 classes: the array")
    if not draft.flows.of(second):
        raise Refused("create the region of the output in the file that uses it")
    return Plan(lambda: _second(node, draft), "the region")


def classes(node: ast.AST, draft: Draft) -> Plan:
    """``(ResultFormat.CLASS, k)`` → k classes."""
    pair = draft.flows.parents[node]
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2 or pair.elts[0] is not node:
        raise Refused("write (ResultFormat.CLASS, number) where an output has classes")
    return Plan(lambda: _second(node, draft), "class_count", "values come with six decimals")


def _second(node: ast.AST, draft: Draft) -> None:
    """Put the second element of a pair in the place of the pair."""
    pair = draft.flows.parents[node]
    assert isinstance(pair, ast.Tuple)
    draft.change(pair, lambda old: draft.new(pair.elts[1]))


def flag(node: ast.AST, draft: Draft) -> Plan:
    """``InferRequestHeader.FLAG_SEQUENCE_START`` → a number."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name not in FLAGS:
        raise Refused("pass sequence_start and sequence_end to the request")

    def carry_out() -> None:
        draft.need(name)
        draft.replace(node, name)

    return Plan(carry_out, "a constant of the file")

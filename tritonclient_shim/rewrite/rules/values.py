"""TS010, TS011, TS062, TS063, TS066: v1's constants."""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused, State
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import PROTOCOLS, of_class
from tritonclient_shim.rewrite.rules.stub import FLAGS


def protocol(node: ast.AST, draft: Draft) -> Plan:
    """``ProtocolType.GRPC`` → ``"grpc"``."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if draft.protocol_class:
        return of_class(node, draft)
    if name not in ("GRPC", "HTTP"):
        raise Refused("the class of the protocols has no successor; a protocol is a module now")
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
    region = second is not None and bool(draft.flows.of(second))
    if draft.keeps_forms and not region:
        return Plan(lambda: draft.replace(node, "(1,)"), "v1's form of an array")
    if second is not None:
        if draft.keeps_forms or not draft.memory or not region:
            raise Refused("the output goes to shared memory, which stays")
        return Plan(lambda: _second(node, draft), "the region")
    return Plan(lambda: draft.replace(node, "0"), "0 classes: the array")


def classes(node: ast.AST, draft: Draft) -> Plan:
    """``(ResultFormat.CLASS, k)`` → k classes."""
    differs = "values come with six decimals"
    if draft.keeps_forms:
        return Plan(lambda: draft.replace(node, "2"), "v1's number of this form", differs)
    pair = draft.flows.parents[node]
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        raise Refused("expected (ResultFormat.CLASS, number)")
    return Plan(lambda: _second(node, draft), "class_count", differs)


def _second(node: ast.AST, draft: Draft) -> None:
    """Put the second element of a pair in the place of the pair."""
    pair = draft.flows.parents[node]
    assert isinstance(pair, ast.Tuple)
    draft.change(pair, lambda old: draft.new(pair.elts[1]))


def flag(node: ast.AST, draft: Draft) -> Plan:
    """``InferRequestHeader.FLAG_SEQUENCE_START`` → a number."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name not in FLAGS:
        raise Refused("messages of v1's protocol have no successor")

    def carry_out() -> None:
        draft.need(name)
        draft.replace(node, name)

    return Plan(carry_out, "a constant of the file")


def formats_alias(node: ast.AST, draft: Draft) -> ast.Assign | None:
    """Return the statement ``R = InferContext.ResultFormat`` that a class is in."""
    parent = draft.flows.parents.get(node)
    attribute = parent if isinstance(parent, ast.Attribute) else node
    statement = draft.flows.parents.get(attribute) if attribute else None
    is_class = isinstance(attribute, ast.Attribute) and attribute.attr == "ResultFormat"
    return statement if is_class and isinstance(statement, ast.Assign) else None


def drop_aliases(draft: Draft) -> None:
    """Remove the aliases of the formats, which are numbers now."""
    for site in draft.sites:
        alias = formats_alias(site.node, draft)
        if alias and site.call is None and not draft.outcome(site):
            draft.edits.remove(alias)
            draft.note(site.node, State.SAFE, "the formats are numbers")

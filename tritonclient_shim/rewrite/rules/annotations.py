"""TS010, TS020 to TS050: v1's classes where none of their objects is made: in annotations, and in
``R = InferContext.ResultFormat``.
"""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.migrate.sites import Site
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.rewrite.calls import given
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import CONTEXTS
from tritonclient_shim.rewrite.options import Refused, State
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import one_protocol

_INFER = f"{API}.InferContext"
_PROTOCOL = f"{API}.ProtocolType"


def annotated(site: Site, draft: Draft) -> Plan | None:
    """Return the class of a client, or ``str`` for a protocol; None for what is no annotation."""
    symbol = ENTRIES[site.id].symbol
    is_class = symbol == _PROTOCOL or symbol in CONTEXTS
    if site.call is not None or not is_class or not draft.in_annotation(site.node):
        return None
    if symbol == _PROTOCOL:
        return Plan(lambda: draft.replace(site.node, "str"), "str")
    text = _class(symbol, site.id, draft)

    def carry_out() -> None:
        if text == "typing.Any":
            draft.imports.add("import typing")
        elif text == draft.object_class:
            draft.need(text)
        draft.replace(site.node, text)

    return Plan(carry_out, text)


def _class(symbol: str, id: str, draft: Draft) -> str:
    """Return what takes the place of a class of contexts, everywhere in the file."""
    groups = {group for group in draft.flows.groups if group.kind == symbol}
    if symbol == _INFER and (draft.every_object or groups and groups <= draft.objects):
        return draft.object_class
    protocol = _protocol(symbol, id, draft)
    if groups & draft.objects or not protocol:
        return "typing.Any"
    return f"{protocol}client.InferenceServerClient"


def _protocol(symbol: str, id: str, draft: Draft) -> str:
    """Return the one protocol of all contexts of a class; '' where there are more or none."""
    groups = [group for group in draft.flows.groups if group.kind == symbol]
    arguments = [given(PARAMETERS[id], call) for group in groups for call in group.creations]
    return one_protocol(arguments, draft)


def annotation_plans(draft: Draft) -> list[tuple[ast.AST, Plan]]:
    """Return the changes of all annotations."""
    plans: list[tuple[ast.AST, Plan]] = []
    for site in draft.sites:
        try:
            plan = annotated(site, draft)
        except Refused:  # the reason is said where the context is made
            draft.todo(site.node, "stays for the contexts that stay", comment=False)
            continue
        if plan is not None:
            plans.append((site.node, plan))
    return plans


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

"""TS010, TS020 to TS050: the classes of contexts and protocols in annotations."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.migrate.sites import Site
from tritonclient_shim.registry import ENTRIES
from tritonclient_shim.rewrite.calls import given
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import CONTEXTS
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.models import carried
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import protocol_of

_INFER = f"{API}.InferContext"
_PROTOCOL = f"{API}.ProtocolType"
_INSIDE = ("Subscript", "Tuple", "List", "BinOp", "Index")  # Index: before Python 3.9


def is_annotation(node: ast.AST, draft: Draft) -> bool:
    """Whether an expression says what a variable, parameter or result is."""
    parent = draft.flows.parents.get(node)
    while parent is not None and type(parent).__name__ in _INSIDE:
        node, parent = parent, draft.flows.parents.get(parent)
    annotation = getattr(parent, "annotation", None) or getattr(parent, "returns", None)
    return annotation is node


def annotated(site: Site, draft: Draft) -> Plan | None:
    """The class of a client, or ``str`` for a protocol; None for what is no annotation."""
    symbol = ENTRIES[site.id].symbol
    is_class = symbol == _PROTOCOL or symbol in CONTEXTS
    if site.call is not None or not is_class or not is_annotation(site.node, draft):
        return None
    if symbol == _PROTOCOL:
        return Plan(lambda: draft.replace(site.node, "str"), "str") if _names(site) else None
    text = _class(symbol, site.id, draft)

    def carry_out() -> None:
        if text == "typing.Any":
            draft.imports.add("import typing")
        elif text != f"{_protocol(symbol, site.id, draft)}client.InferenceServerClient":
            draft.need("Model")
        draft.replace(site.node, text)

    return Plan(carry_out, text)


def _names(site: Site) -> bool:
    """Whether a site is the class of the protocols, and no member of it."""
    return getattr(site.node, "attr", getattr(site.node, "id", "")) not in ("GRPC", "HTTP")


def _class(symbol: str, id: str, draft: Draft) -> str:
    """What takes the place of a class of contexts, everywhere in the file."""
    groups = [group for group in draft.flows.groups if group.kind == symbol]
    records = {symbol == _INFER and carried(group, draft).record for group in groups}
    if records == {True}:
        return draft.called("Model")
    protocol = _protocol(symbol, id, draft)
    if True in records or not protocol:
        return "typing.Any"
    return f"{protocol}client.InferenceServerClient"


def _protocol(symbol: str, id: str, draft: Draft) -> str:
    """The one protocol of all contexts of a class; '' where there are more or none."""
    groups = [group for group in draft.flows.groups if group.kind == symbol]
    made = [given(PARAMETERS[id], call) for group in groups for call in group.made]
    found = {protocol_of(one["protocol"], draft) for one in made if "protocol" in one}
    return found.pop() if len(found) == 1 else ""


def annotation_plans(draft: Draft) -> list[tuple[ast.AST, Plan]]:
    """The changes of all annotations."""
    found: list[tuple[ast.AST, Plan]] = []
    for site in draft.sites:
        try:
            plan = annotated(site, draft)
        except Refused:
            continue  # said where the context is made
        if plan is not None:
            found.append((site.node, plan))
    return found

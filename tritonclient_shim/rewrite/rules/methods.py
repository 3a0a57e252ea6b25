"""TS021, TS022, TS031, TS036, TS037, TS057 to TS061: methods of contexts."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import Callable

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Plan, Refused
from tritonclient_shim.rewrite.rules.models import Contexts

_LAST = "it is of the last request that was done"
Rule = Callable[[ast.Call, Draft, Contexts], Plan]


def renamed(name: str) -> Rule:
    """Return a rule that gives a method another name, also where it is not called."""

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        method: ast.AST = getattr(call, "func", call)
        return Plan(f"{{0}}.{name}", [getattr(method, "value", method)], name, at=method)

    return rule


def asked(unsafe: str = "") -> Rule:
    """Return the rule for a method that reports on past requests; the object has it."""

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        return Plan(unsafe=unsafe or (_LAST if contexts.starts else ""))

    return rule


def index(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """Keep ``get_model_repository_index().models``: gRPC has both, HTTP a list of dicts."""
    around = draft.around_result(call)
    if not draft.options.to or not all(getattr(x, "attr", "") == "models" for x in around):
        raise Refused("the client returns a row for each version; read the names from the rows")
    plan = Plan(what="the same", unsafe="it has a row for each version of a model")
    if draft.options.to == "grpc":
        return plan
    also = partial(draft.imports.add, "from types import SimpleNamespace")
    models, rows = draft.flows.parents[call], "[SimpleNamespace(**row) for row in {}]"
    if isinstance(models, ast.Attribute):
        return replace(plan, form=rows.format("{0}"), parts=[call], at=models, also=also)
    return replace(plan, form=f"SimpleNamespace(models={rows.format('{old}')})", also=also)


def correlation_id(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``correlation_id()`` → the argument of the context."""
    if contexts.is_object:
        return Plan(what="the same")
    return Plan("{0}", [contexts.sequence() or "0"], "the sequence's id")

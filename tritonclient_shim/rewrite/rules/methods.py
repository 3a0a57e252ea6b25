"""TS021, TS022, TS031, TS036, TS037, TS057 to TS061: methods of contexts."""

from __future__ import annotations

import ast
from typing import Callable

from tritonclient_shim.rewrite.calls import call_arguments, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Plan, Refused
from tritonclient_shim.rewrite.rules.models import Contexts

_LAST = "it is of the last request that was done"

Rule = Callable[[ast.Call, Draft, Contexts], Plan]


def renamed(name: str) -> Rule:
    """Return a rule that gives a method another name, also where it is not called."""

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        method = getattr(call, "func", call)
        return Plan(
            lambda: draft.change(method, lambda old: f"{old.rpartition('.')[0]}.{name}"), name
        )

    return rule


def asked(form: str, helper: str = "", unsafe: str = "") -> Rule:
    """Return the rule for a method that tells of past requests: their client tells it now."""

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        call_arguments((), call)
        if not contexts.group.creations:
            raise Refused("name the model at each request, or read model and times there")
        part = ".client" if contexts.is_object else ""

        def carry_out() -> None:
            draft.need(*([helper] if helper else []))
            called = draft.called(helper)
            draft.change(call, lambda old: form.format(called, f"{draft.new(owner(call))}{part}"))

        is_last = helper == "last_model" and contexts.starts
        return Plan(carry_out, form.format(helper, "client"), _LAST if is_last else unsafe)

    return rule


def index(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """Keep ``get_model_repository_index().models``: gRPC has both, HTTP a list of dicts."""
    around = draft.around_result(call)
    if not draft.options.to or not all(getattr(x, "attr", "") == "models" for x in around):
        raise Refused("the client returns a row for each version; read the names from the rows")

    models = draft.flows.parents[call]

    def carry_out() -> None:
        if draft.options.to == "http":
            draft.imports.add("from types import SimpleNamespace")
            if isinstance(models, ast.Attribute):
                draft.change(models, lambda old: objects(draft.new(call)))
            else:
                draft.change(call, lambda old: f"SimpleNamespace(models={objects(old)})")

    return Plan(carry_out, "the same", "it has a row for each version of a model")


def objects(rows: str) -> str:
    """Return the text of a list of objects, whose attributes are the items of dicts."""
    return f"[SimpleNamespace(**row) for row in {rows}]"


def correlation_id(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``correlation_id()`` → the argument of the context."""
    if contexts.is_object:
        return Plan(lambda: None, "the same")
    return Plan(lambda: draft.replace(call, contexts.sequence() or "0"), "the sequence's id")

"""TS021, TS022, TS031, TS036, TS037, TS044, TS057 to TS061: methods of contexts."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Callable

from tritonclient_shim.rewrite.calls import call_arguments, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

_UNMEASURED = "the times of sending and receiving are 0: no client measures them"
_LAST = "it is of the last request that was done"

Rule = Callable[[ast.Call, Draft, "Carried | None"], Plan]


def renamed(name: str) -> Rule:
    """Return a rule that gives a method another name."""

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        return Plan(lambda: with_method(call, draft, name), name)

    return rule


def with_method(call: ast.Call, draft: Draft, name: str) -> None:
    """Call another method of the object."""
    assert isinstance(call.func, ast.Attribute)
    old_name = call.func.attr
    draft.change(call.func, lambda old: old[: -len(old_name)] + name)


def of_owner(call: ast.Call, draft: Draft, helper: str, part: str = "") -> Plan:
    """Replace a method by a helper that is called with the object."""

    def carry_out() -> None:
        draft.need(helper)
        draft.change(call, lambda old: f"{draft.called(helper)}({draft.new(owner(call))}){part}")

    return Plan(carry_out, f"{helper}(client){part}")


def by_function(call: ast.Call, draft: Draft, helper: str, what: str) -> Plan:
    """Replace a function of v1 by a helper with equal arguments."""

    def carry_out() -> None:
        draft.need(helper)
        draft.replace(call.func, draft.called(helper))

    return Plan(carry_out, what)


def index(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
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


def last_request(part: int) -> Rule:
    """Return the rule for the name or the version of the model that answered last."""

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        _check_asked(carried)
        call_arguments((), call)
        plan = of_owner(call, draft, "last_model", f"[{part}]")
        return replace(plan, unsafe=_LAST if carried and carried.starts else "")

    return rule


def request_id(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_last_request_id()`` → how many requests of the client were answered."""
    _check_asked(carried)
    call_arguments((), call)
    return Plan(
        lambda: draft.change(call, lambda old: f"{draft.new(owner(call))}.count"),
        "client.count",
        "a server does not number requests: the client counts its own",
    )


def stat(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_stat()``: the number of requests, and the time that ``infer`` took."""
    _check_asked(carried)
    call_arguments((), call)
    return replace(of_owner(call, draft, "request_stat"), unsafe=_UNMEASURED)


def _check_asked(carried: Carried | None) -> None:
    if carried and carried.is_object:
        raise Refused("name the model at each request, or read model and times there")


def correlation_id(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``correlation_id()`` → the argument of the context."""
    assert carried is not None
    if carried.is_object:
        return Plan(lambda: None, "the same")
    return Plan(lambda: draft.replace(call, carried.sequence() or "0"), "the sequence's id")

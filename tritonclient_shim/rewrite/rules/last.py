"""TS057, TS058, TS060, TS061: what a context remembers → what the file remembers."""

from __future__ import annotations

import ast

import libcst as cst

from tritonclient_shim.rewrite.calls import NewArgument, NewCall, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.methods import Rule
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan


def remembered(function: str) -> Rule:
    """A rule for what a function of the file tells of the requests of a client."""

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        assert carried is not None and isinstance(call.func, ast.Attribute)
        if function == "last_model_version" and carried.starts:
            raise Refused("it is not told of asynchronous requests")
        before: list[NewArgument] = [owner]
        if carried.record:
            before = [f"{draft.text(call.func.value)}.client"]

        def carry_out() -> None:
            draft.need(function)
            draft.change(call, NewCall((), draft.called(function), before))

        return Plan(carry_out, f"{function}(client)")

    return rule


def model_name(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """The name of the model that the context is for."""
    assert carried is not None and isinstance(call.func, ast.Attribute)
    text = f"{draft.text(call.func.value)}.name" if carried.record else carried.name()
    return Plan(lambda: _put(call, text, draft), "the model's name")


def correlation_id(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """The id that the context was made with, if no request has another."""
    assert carried is not None
    given = {site.id for site in draft.sites if site.call in carried.group.calls}
    if carried.record or "TS111" in given:
        raise Refused("the id is an argument of each request now")
    text = carried.options().get("sequence_id", "0")
    return Plan(lambda: _put(call, text, draft), "the sequence's id")


def _put(call: ast.Call, text: str, draft: Draft) -> None:
    made = draft.edits.expression(text)

    def change(old: cst.Call) -> cst.BaseExpression:
        return made

    draft.edits.change(draft.places.of(call), change)

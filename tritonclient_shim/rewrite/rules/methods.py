"""TS021, TS022, TS031, TS036, TS037, TS044 and TS057 to TS061: methods of contexts → the client's.

A method gets another name, or becomes a function of the file. The getters for requests become
attributes that the file keeps.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Callable

from tritonclient_shim.rewrite.calls import call_arguments, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

UNMEASURED = "the times of sending and receiving are 0: no client measures them"
UNNUMBERED = "a server does not number requests; the program counts its own"

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


def of_owner(call: ast.Call, draft: Draft, helper: str) -> Plan:
    """Replace a method by a helper that is called with the object."""

    def carry_out() -> None:
        draft.need(helper)
        draft.change(call, lambda old: f"{draft.called(helper)}({draft.new(owner(call))})")

    return Plan(carry_out, f"{helper}(client)")


def by_function(call: ast.Call, draft: Draft, helper: str, what: str) -> Plan:
    """Replace a function of v1 by a helper with equal arguments."""

    def carry_out() -> None:
        draft.need(helper)
        draft.replace(call.func, draft.called(helper))

    return Plan(carry_out, what)


def index(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_model_repository_index()`` → the models with a name each."""
    around = draft.around_result(call)
    if not all(isinstance(item, ast.Attribute) and item.attr == "models" for item in around):
        raise Refused("the whole index is used; the client has a row for each version")
    return of_owner(call, draft, "repository_index")


# ------------------------------------------------------------------ getters of the last request


def _last(part: str, unsafe: str = "") -> Rule:
    """Return the rule for a getter of the last request."""

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        assert carried is not None
        call_arguments((), call)
        unsure = unsafe or _asynchronous(carried, "the last request that was done")
        return Plan(
            lambda: draft.change(call, lambda old: f"{draft.new(owner(call))}.last.{part}"),
            f"client.last.{part}",
            unsure,
        )

    return rule


request_id = _last("number", UNNUMBERED)
model_name = _last("model_name")
model_version = _last("model_version")


def stat(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_stat()``: the number of requests, and the time that ``infer`` took."""
    assert carried is not None
    call_arguments((), call)
    return replace(of_owner(call, draft, "request_stat"), unsafe=UNMEASURED)


def number(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_last_request_id()`` of a context that asks: the next number of the program."""

    def carry_out() -> None:
        draft.need("next_number")
        draft.replace(call, f"{draft.called('next_number')}()")

    return Plan(carry_out, "next_number()", UNNUMBERED)


def _asynchronous(carried: Carried, what: str) -> str:
    """Return the warning about asynchronous requests; '' if there are none."""
    names = {getattr(call.func, "attr", "") for call in carried.group.calls}
    return f"it is of {what}" if any(name.startswith("async_run") for name in names) else ""

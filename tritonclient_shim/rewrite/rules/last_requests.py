"""TS057 to TS061: the getters of a context for its requests → attributes that the file keeps."""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.calls import given, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.rules.methods import Rule, with_method
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

UNMEASURED = "the times of sending and receiving are 0: no client measures them"
UNNUMBERED = "a server does not number requests; the program counts its own"


def _last(part: str, unsafe: str = "") -> Rule:
    """Return the rule for a getter of the last request."""

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        assert carried is not None
        given((), call)
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
    given((), call)
    return Plan(
        lambda: with_method(call, draft, "request_stat"), "client.request_stat()", UNMEASURED
    )


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

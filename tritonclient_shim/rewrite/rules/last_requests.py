"""TS057 to TS061: what a context tells of its requests → what the file remembers of them."""

from __future__ import annotations

import ast

import libcst as cst

from tritonclient_shim.migrate.patterns import PARAMETERS, arguments
from tritonclient_shim.rewrite.calls import given
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.methods import Rule
from tritonclient_shim.rewrite.rules.models import Carried, signs_ids
from tritonclient_shim.rewrite.rules.plan import Plan

_LOST = {"cumulative_send_time_ns", "cumulative_receive_time_ns"}
_TIMES = {"cumulative_total_request_time_ns", *_LOST}
_REQUESTS = {"run": "TS051", "async_run": "TS053", "async_run_with_cb": "TS054"}


def _last(part: str, unsafe: str = "") -> Rule:
    """The rule for a method that tells a thing of the last request."""

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        assert carried is not None
        given((), call)

        def change(old: cst.Call) -> cst.BaseExpression:
            last = cst.Attribute(_client(old, carried), cst.Name("last"))
            return cst.Attribute(last, cst.Name(part))

        unsure = unsafe or _asynchronous(carried, "the last request that was done")
        return Plan(lambda: draft.change(call, change), f"client.last.{part}", unsure)

    return rule


request_id = _last("number", "a server does not number requests; the program counts its own")
model_name = _last("model_name")
model_version = _last("model_version")


def stat(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_stat()``: the number of requests, and the time that ``infer`` took."""
    assert carried is not None
    given((), call)
    read = {one.value for one in ast.walk(draft.source.tree) if isinstance(one, ast.Constant)}
    if read & _LOST:
        raise Refused("no client tells the times of sending and receiving apart")
    if read & _TIMES and _asynchronous(carried, "its time"):
        raise Refused("no client tells how long asynchronous requests took")

    def change(old: cst.Call) -> cst.Call:
        return old.with_changes(func=cst.Attribute(_client(old, carried), cst.Name("request_stat")))

    unsafe = "times of sending and receiving are not measured"
    return Plan(lambda: draft.change(call, change), "client.request_stat()", unsafe)


def correlation_id(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``correlation_id()`` → what the context was made with, where no request gave another."""
    assert carried is not None and isinstance(call.func, ast.Attribute)
    given((), call)
    if signs_ids(draft):
        raise Refused("the id goes to gRPC as a signed number, and the file has larger ones")
    for one in carried.group.calls:
        id = _REQUESTS.get(getattr(one.func, "attr", ""), "")
        own = arguments(PARAMETERS[id], one).get("corr_id") if id else None
        if own is not None and draft.constant(own) not in (0, None, False):
            raise Refused("a request gives another one: keep the id in a variable")
    if carried.record:
        text = f'{draft.text(call.func.value)}.options.get("sequence_id", 0)'
    else:
        text = carried.options().get("sequence_id", "0")
    return Plan(lambda: draft.replace(call, text), text)


def _asynchronous(carried: Carried, what: str) -> str:
    """What is told of asynchronous requests; '' where there are none."""
    names = {getattr(one.func, "attr", "") for one in carried.group.calls}
    return f"it is of {what}" if any(name.startswith("async_run") for name in names) else ""


def _client(old: cst.Call, carried: Carried) -> cst.BaseExpression:
    """The client that remembers."""
    assert isinstance(old.func, cst.Attribute)
    client = old.func.value
    return cst.Attribute(client, cst.Name("client")) if carried.record else client

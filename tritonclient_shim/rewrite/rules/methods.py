"""TS021, TS022, TS036, TS037 and TS044: methods that have another name on the client; and calls of
the file's own functions in the place of methods or functions.
"""

from __future__ import annotations

import ast
from typing import Callable

import libcst as cst

from tritonclient_shim.rewrite.calls import owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

Rule = Callable[[ast.Call, Draft, "Carried | None"], Plan]


def renamed(name: str) -> Rule:
    """Return a rule that gives a method another name."""

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        return Plan(lambda: draft.change(call, lambda old: with_method(old, name)), name)

    return rule


def with_method(old: cst.Call, name: str) -> cst.Call:
    """Return a call of another method of the same object."""
    assert isinstance(old.func, cst.Attribute)
    return old.with_changes(func=old.func.with_changes(attr=cst.Name(name)))


def of_owner(call: ast.Call, draft: Draft, helper: str) -> Plan:
    """Return a function of the file that is called with the object in the place of its method."""

    def carry_out() -> None:
        draft.need(helper)
        function = cst.Name(draft.called(helper))
        draft.change(call, lambda old: cst.Call(function, [owner(old)]))

    return Plan(carry_out, f"{helper}(client)")


def by_function(node: ast.AST, draft: Draft, helper: str, what: str) -> Plan:
    """Return a function of the file in the place of one of v1's, with the same arguments."""

    def carry_out() -> None:
        draft.need(helper)
        name = cst.Name(draft.called(helper))
        draft.change(node, lambda old: old.with_changes(func=name))

    return Plan(carry_out, what)

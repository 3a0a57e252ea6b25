"""TS021, TS022, TS036, TS037 and TS044: methods that have another name on the client; and calls of
the file's own functions in the place of methods or functions.
"""

from __future__ import annotations

import ast
from typing import Callable

from tritonclient_shim.rewrite.calls import owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

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
    """Return a function of the file that is called with the object in the place of its method."""

    def carry_out() -> None:
        draft.need(helper)
        draft.change(call, lambda old: f"{draft.called(helper)}({draft.new(owner(call))})")

    return Plan(carry_out, f"{helper}(client)")


def by_function(call: ast.Call, draft: Draft, helper: str, what: str) -> Plan:
    """Return a function of the file in the place of one of v1's, with the same arguments."""

    def carry_out() -> None:
        draft.need(helper)
        draft.replace(call.func, draft.called(helper))

    return Plan(carry_out, what)

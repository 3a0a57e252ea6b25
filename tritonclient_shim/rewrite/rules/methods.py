"""TS021, TS022, TS036, TS037: methods that have another name on the client."""

from __future__ import annotations

import ast
from typing import Callable

import libcst as cst

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

Rule = Callable[[ast.Call, Draft, "Carried | None"], Plan]


def renamed(name: str) -> Rule:
    """A rule that gives a method another name."""

    def rule(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
        return Plan(lambda: draft.change(call, change), name)

    def change(old: cst.Call) -> cst.Call:
        assert isinstance(old.func, cst.Attribute)
        return old.with_changes(func=old.func.with_changes(attr=cst.Name(name)))

    return rule

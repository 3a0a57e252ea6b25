"""TS031: the index of the model repository, of which only the names are read."""

from __future__ import annotations

import ast

import libcst as cst

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan


def index(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_model_repository_index()`` → the models with a name each."""
    parent = draft.flows.parents[call]
    parents = [parent]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        parents = draft.reads(parent.targets[0])
    if not all(isinstance(one, ast.Attribute) and one.attr == "models" for one in parents):
        raise Refused("the whole index is used; the client has a row for each version")

    def change(old: cst.Call) -> cst.Call:
        assert isinstance(old.func, cst.Attribute)
        return cst.Call(cst.Name(draft.called("repository_index")), [cst.Arg(old.func.value)])

    def carry_out() -> None:
        draft.need("repository_index")
        draft.change(call, change)

    return Plan(carry_out, "repository_index(client)")

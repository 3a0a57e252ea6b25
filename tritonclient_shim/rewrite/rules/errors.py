"""TS015, TS016, TS017: v1's exception, where it is caught or raised, and what it is asked for."""

from __future__ import annotations

import ast
from typing import Sequence

from tritonclient_shim.rewrite.calls import owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.plan import Plan

_NAME = "InferenceServerException"
_IMPORT = f"from tritonclient.utils import {_NAME}"
_CAUGHT = f"({_NAME}, OSError)"
_WIDER = frozenset({"OSError", "IOError", "EnvironmentError", "Exception", "BaseException"})
_OF_SERVER = "errors do not tell what v1's server called itself; Triton is called triton"
_OF_REQUEST = "a server does not number requests"


def exception(node: ast.AST, draft: Draft) -> Plan:
    """tritonclient's exception has the same name; over HTTP an OSError may come in its place."""
    call, node = (node, node.func) if isinstance(node, ast.Call) else (None, node)
    if draft.errors_stay:
        raise Refused("it stays, for the ids that the file asks errors for", by_option=True)
    if getattr(node, "attr", _NAME) != _NAME:
        return _told(node, call, draft)
    siblings = _caught_with(node, draft)
    is_wide = siblings is None or any(getattr(item, "id", "") in _WIDER for item in siblings)

    def carry_out() -> None:
        draft.imports.add(_IMPORT)
        if "http" not in draft.modules or is_wide:
            if isinstance(node, ast.Attribute):
                draft.replace(node, _NAME)
        elif len(siblings or ()) == 1:
            draft.replace(node, _CAUGHT)
        else:
            draft.replace(node, f"{_NAME}, OSError")

    return Plan(carry_out, "tritonclient's exception")


def _caught_with(node: ast.AST, draft: Draft) -> Sequence[ast.AST] | None:
    """Return all exceptions of the handler that catches this one; None outside of handlers."""
    parent = draft.flows.parents.get(node)
    if isinstance(parent, ast.ExceptHandler):
        return [node]
    if isinstance(parent, ast.Tuple) and isinstance(
        draft.flows.parents.get(parent), ast.ExceptHandler
    ):
        return parent.elts
    return None


def _told(node: ast.AST, call: ast.Call | None, draft: Draft) -> Plan:
    """``message()``, which an OSError does not have."""
    if getattr(node, "attr", "") != "message":
        raise Refused("errors do not tell it any more")

    def carry_out() -> None:
        if call is not None and "http" in draft.modules:
            _by_function(call, "message_of", draft)

    return Plan(carry_out, "the same, or message_of(error)")


def server_id(call: ast.AST, draft: Draft) -> Plan:
    """``server_id()``: not empty if a server has answered."""
    if draft.errors_stay or not isinstance(call, ast.Call):
        raise Refused(_OF_SERVER)
    return Plan(
        lambda: _by_function(call, "server_id_of", draft), "server_id_of(error)", _OF_SERVER
    )


def request_id(call: ast.AST, draft: Draft) -> Plan:
    """``request_id()``: 0, as v1 had for a request that no server has seen."""
    if draft.errors_stay or not isinstance(call, ast.Call):
        raise Refused(_OF_REQUEST)
    return Plan(
        lambda: _by_function(call, "request_id_of", draft), "request_id_of(error)", _OF_REQUEST
    )


def _by_function(call: ast.Call, helper: str, draft: Draft) -> None:
    """Call a function of the file with the error in the place of its method."""
    draft.need(helper)
    draft.change(call, lambda old: f"{draft.called(helper)}({draft.new(owner(call))})")

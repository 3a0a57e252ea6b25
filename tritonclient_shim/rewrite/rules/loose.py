"""TS015, TS201 to TS203: uses without an object.

v1's exception in handlers and ``raise``, its ``message()``, and what NumPy and Python removed.
"""

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
_METHODS = {f"iter{name}": f"dict.{name}" for name in ("items", "keys", "values")}
_TYPES = {name: name for name in ("object", "bool", "int", "float", "str", "complex")}
_TYPES.update(long="int", unicode="str")


def exception(node: ast.AST, draft: Draft) -> Plan:
    """Use tritonclient's exception, with v1's name. Over HTTP, handlers also catch OSError."""
    call, node = (node, node.func) if isinstance(node, ast.Call) else (None, node)
    if draft.errors_stay:
        raise Refused("it stays, for the ids that the file asks errors for", by_option=True)
    if getattr(node, "attr", _NAME) != _NAME:
        return _message(node, call, draft)
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
    """Return all exceptions of the handler around an exception; None outside of handlers."""
    parent = draft.flows.parents.get(node)
    if isinstance(parent, ast.ExceptHandler):
        return [node]
    if isinstance(parent, ast.Tuple) and isinstance(
        draft.flows.parents.get(parent), ast.ExceptHandler
    ):
        return parent.elts
    return None


def _message(node: ast.AST, call: ast.Call | None, draft: Draft) -> Plan:
    """Keep ``message()``, or use a helper if an OSError without it may come."""
    if getattr(node, "attr", "") != "message":
        raise Refused("errors do not tell it any more")
    helper = "message_of"

    def carry_out() -> None:
        if call is not None and "http" in draft.modules:
            draft.need(helper)
            draft.change(call, lambda old: f"{draft.called(helper)}({draft.new(owner(call))})")

    return Plan(carry_out, "the same, or message_of(error)")


# ---------------------------------------------------------------- what NumPy and Python removed


def numpy_name(node: ast.AST, draft: Draft) -> Plan:
    """``np.object`` → ``object``."""
    outer = node
    if isinstance(node, ast.Call):  # np.bool(value)
        outer, node = node, node.func
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name not in _TYPES:
        raise Refused("write a list of the types that are meant")
    target = outer.func if isinstance(outer, ast.Call) else outer
    return Plan(lambda: draft.replace(target, _TYPES[name]), _TYPES[name])


def future_name(node: ast.AST, draft: Draft) -> Plan:
    """``from future.utils import iteritems`` → ``iteritems = dict.items``."""
    names = node.names if isinstance(node, ast.ImportFrom) else []
    if not names or not all(item.name in _METHODS and not item.asname for item in names):
        raise Refused("use items(), values() and keys(), which Python 3 has")

    def carry_out() -> None:
        assert isinstance(node, ast.stmt)
        draft.edits.remove(node)
        draft.imports.update(f"\n{item.name} = {_METHODS[item.name]}" for item in names)

    return Plan(carry_out, "a method of dict")

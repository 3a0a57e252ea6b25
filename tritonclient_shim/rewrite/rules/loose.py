"""TS015, TS201 to TS203: uses without an object.

v1's exception in handlers and ``raise``, its ``message()``, and what NumPy and Python removed.
"""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.calls import owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.plan import Plan

_NAME = "InferenceServerException"
_IMPORT = f"from tritonclient.utils import {_NAME}"
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
    parent = draft.flows.parents[node]
    is_in_tuple = isinstance(parent, ast.Tuple)
    handler = draft.flows.parents[parent] if is_in_tuple else parent
    caught = handler.type if isinstance(handler, ast.ExceptHandler) else None

    def carry_out() -> None:
        draft.imports.add(_IMPORT)
        if "http" in draft.modules and caught and "OSError" not in draft.text(caught):
            draft.replace(node, f"{_NAME}, OSError" if is_in_tuple else f"({_NAME}, OSError)")
        elif isinstance(node, ast.Attribute):
            draft.replace(node, _NAME)

    return Plan(carry_out, "tritonclient's exception")


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
    target = node.func if isinstance(node, ast.Call) else node  # np.bool(value)
    name = target.attr if isinstance(target, ast.Attribute) else ""
    if name not in _TYPES:
        raise Refused("write a list of the types that are meant")
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

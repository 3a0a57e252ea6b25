"""TS201, TS202, TS203: what NumPy and Python removed."""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.plan import Plan

_TYPES = {name: name for name in ("object", "bool", "int", "float", "str", "complex")}
_TYPES.update(long="int", unicode="str")


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


def future(node: ast.AST, draft: Draft) -> Plan:
    """``iteritems(mapping)`` → ``iter(mapping.items())``, by a function of the file."""
    if not isinstance(node, ast.ImportFrom) or node.module != "future.utils":
        raise Refused("what Python 3 has itself takes its place")
    names = [item for item in node.names if (item.asname or item.name) == item.name]
    if len(names) < len(node.names) or not all(name.name in _FUTURE for name in names):
        raise Refused("what Python 3 has itself takes its place")

    def carry_out() -> None:
        for name in names:
            draft.free(name.name)
            draft.need(name.name)
        draft.edits.remove(node)

    return Plan(carry_out, "a function of the file")


_FUTURE = frozenset({"iteritems", "itervalues", "iterkeys"})

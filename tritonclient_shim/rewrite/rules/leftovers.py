"""TS201, TS202, TS203: what NumPy and Python removed."""

from __future__ import annotations

import ast

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.plan import Plan

_BUILTIN = {
    "object": "object",
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "complex": "complex",
    "long": "int",
    "unicode": "str",
}


def numpy_name(node: ast.AST, draft: Draft) -> Plan:
    """``np.object`` → ``object``."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    if name not in _BUILTIN:
        raise Refused("write a list of the types that are meant")
    return Plan(lambda: draft.replace(node, _BUILTIN[name]), _BUILTIN[name])

"""An annotation → what a name that has it can stand for."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate import calls
from tritonclient_shim.migrate.interpreter import Interpreter
from tritonclient_shim.migrate.values import UNKNOWN, Values, items, union

_EITHER = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar"})
_CONTAINERS = frozenset(
    ("List", "Sequence", "Iterable", "Iterator", "Set", "Tuple", "Deque", "Collection", "Dict")
    + ("Mapping", "Generator", "list", "tuple", "set", "dict", "deque", "MutableMapping")
)


def index(node: ast.Subscript) -> ast.expr:
    """Return the expression in the brackets; Python 3.8 has a node of its own around it."""
    inner: ast.expr = getattr(node.slice, "value", node.slice)
    return inner if type(node.slice).__name__ == "Index" else node.slice


def values(node: ast.AST, evaluator: Interpreter) -> Values:
    """Return what an object of the annotated type is."""
    if isinstance(node, ast.Constant):
        return _quoted(node, evaluator)
    if isinstance(node, ast.BinOp):
        return values(node.left, evaluator) | values(node.right, evaluator)
    if isinstance(node, ast.Subscript):
        return _subscript(node, evaluator)
    return union(calls.new_instances(item) for item in evaluator.of(node))


def _quoted(node: ast.Constant, evaluator: Interpreter) -> Values:
    if not isinstance(node.value, str):
        return UNKNOWN
    try:
        inner = ast.parse(node.value.strip(), mode="eval").body
    except SyntaxError:
        return UNKNOWN
    place = evaluator.scopes.places[node]
    evaluator.scopes.places.update(dict.fromkeys(ast.walk(inner), place))
    return values(inner, evaluator)


def _subscript(node: ast.Subscript, evaluator: Interpreter) -> Values:
    kind = getattr(node.value, "attr", getattr(node.value, "id", ""))
    inner = index(node)
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if kind in _EITHER:
        return union(values(part, evaluator) for part in parts)
    if kind in _CONTAINERS:
        return items([union(values(part, evaluator) for part in parts)])
    return UNKNOWN

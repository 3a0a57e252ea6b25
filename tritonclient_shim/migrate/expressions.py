"""Expressions other than names, attributes and calls → what they can stand for."""

from __future__ import annotations

import ast
from typing import Any, Callable

from tritonclient_shim.migrate import hints
from tritonclient_shim.migrate.interpreter import Interpreter
from tritonclient_shim.migrate.values import (
    LITERAL,
    UNKNOWN,
    Items,
    LocalFunction,
    LocalInstance,
    Value,
    Values,
    element,
    items,
    union,
)


def _sequence(node: ast.Tuple | ast.List | ast.Set, evaluator: Interpreter) -> Values:
    if any(isinstance(candidate, ast.Starred) for candidate in node.elts):
        return items([union(_unpacked(part, evaluator) for part in node.elts)])
    return items([evaluator.of(item) for item in node.elts], range(len(node.elts)))


def _unpacked(node: ast.expr, evaluator: Interpreter) -> Values:
    if isinstance(node, ast.Starred):
        return element(evaluator.of(node.value))
    return evaluator.of(node)


def _dict(node: ast.Dict, evaluator: Interpreter) -> Values:
    values = [
        evaluator.of(value) if key is not None else element(evaluator.of(value))
        for key, value in zip(node.keys, node.values)
    ]
    keys = [item.value for item in node.keys if isinstance(item, ast.Constant)]
    return items(values, keys)


def _subscript(node: ast.Subscript, evaluator: Interpreter) -> Values:
    index = hints.index(node)
    if isinstance(index, ast.Slice):
        return items([element(evaluator.of(node.value))])
    key = index.value if isinstance(index, ast.Constant) else None
    owners = evaluator.of(node.value)
    return element(owners, key) | union(_got(item, evaluator) for item in owners)


def _got(owner: Value, evaluator: Interpreter) -> Values:
    """Return what ``__getitem__`` of an object of a class of the file returns."""
    if not isinstance(owner, LocalInstance):
        return UNKNOWN
    methods = evaluator.attribute_of_object(owner.node, "__getitem__")
    return union(evaluator.returned(item) for item in methods if isinstance(item, LocalFunction))


def _operation(node: ast.BinOp, evaluator: Interpreter) -> Values:
    both = evaluator.of(node.left) | evaluator.of(node.right)
    return items([element(both)]) if any(isinstance(item, Items) for item in both) else UNKNOWN


def _inner(node: Any, evaluator: Interpreter) -> Values:
    return evaluator.of(node.value)


#: Type of a node → the rule for it.
RULES: dict[type, Callable[[Any, Interpreter], Values]] = {
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set), _sequence),
    **dict.fromkeys((ast.NamedExpr, ast.Await, ast.Starred), _inner),
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.GeneratorExp),
        lambda node, evaluator: items([evaluator.of(node.elt)]),
    ),
    ast.Dict: _dict,
    ast.DictComp: lambda node, evaluator: items([evaluator.of(node.value)]),
    ast.Subscript: _subscript,
    ast.BinOp: _operation,
    ast.BoolOp: lambda node, evaluator: union(evaluator.of(item) for item in node.values),
    ast.IfExp: lambda node, evaluator: evaluator.of(node.body) | evaluator.of(node.orelse),
    ast.YieldFrom: lambda node, evaluator: element(evaluator.of(node.value)),
    ast.Constant: lambda node, evaluator: frozenset({LITERAL}),
    ast.Lambda: lambda node, evaluator: frozenset({LocalFunction(node)}),
}

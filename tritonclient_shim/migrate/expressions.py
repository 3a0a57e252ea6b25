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
    if any(isinstance(one, ast.Starred) for one in node.elts):
        return items([union(_unpacked(one, evaluator) for one in node.elts)])
    return items([evaluator.of(one) for one in node.elts], range(len(node.elts)))


def _unpacked(node: ast.expr, evaluator: Interpreter) -> Values:
    if isinstance(node, ast.Starred):
        return element(evaluator.of(node.value))
    return evaluator.of(node)


def _dict(node: ast.Dict, evaluator: Interpreter) -> Values:
    found = [
        evaluator.of(value) if key is not None else element(evaluator.of(value))
        for key, value in zip(node.keys, node.values)
    ]
    keys = [one.value for one in node.keys if isinstance(one, ast.Constant)]
    return items(found, keys)


def _subscript(node: ast.Subscript, evaluator: Interpreter) -> Values:
    index = hints.index(node)
    if isinstance(index, ast.Slice):
        return items([element(evaluator.of(node.value))])
    key = index.value if isinstance(index, ast.Constant) else None
    owners = evaluator.of(node.value)
    return element(owners, key) | union(_got(one, evaluator) for one in owners)


def _got(owner: Value, evaluator: Interpreter) -> Values:
    """What ``__getitem__`` of an object of a class of the file returns."""
    if not isinstance(owner, LocalInstance):
        return UNKNOWN
    methods = evaluator.attribute_of_object(owner.node, "__getitem__")
    return union(evaluator.returned(one) for one in methods if isinstance(one, LocalFunction))


def _operation(node: ast.BinOp, evaluator: Interpreter) -> Values:
    both = evaluator.of(node.left) | evaluator.of(node.right)
    return items([element(both)]) if any(isinstance(one, Items) for one in both) else UNKNOWN


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
    ast.BoolOp: lambda node, evaluator: union(evaluator.of(one) for one in node.values),
    ast.IfExp: lambda node, evaluator: evaluator.of(node.body) | evaluator.of(node.orelse),
    ast.YieldFrom: lambda node, evaluator: element(evaluator.of(node.value)),
    ast.Constant: lambda node, evaluator: frozenset({LITERAL}),
    ast.Lambda: lambda node, evaluator: frozenset({LocalFunction(node)}),
}

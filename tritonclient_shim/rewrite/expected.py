"""Whether a program waits for the errors of a place: a ``try`` is around it, or around a call."""

from __future__ import annotations

import ast
from typing import Iterable, Iterator, Union

from tritonclient_shim.migrate.classes import PROPERTIES, decorators
from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.values import LocalClass, LocalFunction, Symbol, Value

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
_OWN = f"{API}.InferenceServerException"
_ANY = ("builtins.Exception", "builtins.BaseException")
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)


class Expected:
    """The functions of a file that run inside of a ``try`` which catches v1's exception.

    ``by_name``: those whose callers catch it by its own name; ``at_all``: by any.
    """

    def __init__(self, tree: ast.Module, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._properties: dict[str, list[_Function]] = {}
        for node in ast.walk(tree):
            if isinstance(node, _DEFINED) and decorators(node) & PROPERTIES:
                self._properties.setdefault(node.name, []).append(node)
        tried = [node for node in ast.walk(tree) if isinstance(node, ast.Try)]
        self.by_name = self._called(one for one in tried if self._catches(one, (_OWN,)))
        self.at_all = self._called(one for one in tried if self._catches(one, (_OWN, *_ANY)))

    def _catches(self, node: ast.Try, names: tuple[str, ...]) -> bool:
        return any(self._is_one(one.type, names) for one in node.handlers)

    def _is_one(self, node: ast.expr | None, names: tuple[str, ...]) -> bool:
        if isinstance(node, ast.Tuple):
            return any(self._is_one(one, names) for one in node.elts)
        if node is None:
            return _ANY[0] in names
        return any(Symbol(name) in self._evaluator.of(node) for name in names)

    def _called(self, tried: Iterable[ast.Try]) -> set[_Function]:
        """The functions that the bodies call, and those that these call."""
        found: set[_Function] = set()
        left = [function for one in tried for part in one.body for function in self._from(part)]
        while left:
            function = left.pop()
            if function not in found:
                found.add(function)
                left += self._from(function)
        return found

    def _from(self, node: ast.AST) -> Iterator[_Function]:
        """The functions that the code of a node calls."""
        for one in ast.walk(node):
            if isinstance(one, ast.Call):
                for value in self._evaluator.of(one.func):
                    yield from self._of(value)
            elif isinstance(one, ast.Attribute):
                yield from self._properties.get(one.attr, ())

    def _of(self, value: Value) -> Iterator[_Function]:
        if isinstance(value, LocalFunction):
            yield value.node
        elif isinstance(value, LocalClass):  # its __init__, and what an object is asked for
            methods = (one for one in value.node.body if isinstance(one, _DEFINED))
            yield from (one for one in methods if one.name.startswith("__"))

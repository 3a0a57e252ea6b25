"""Which functions of a file run at some time, as seen from the code that calls them."""

from __future__ import annotations

import ast
from typing import Iterable, Iterator, Union

from tritonclient_shim.migrate.classes import PROPERTIES, decorators
from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.scopes import spelt
from tritonclient_shim.migrate.values import LocalClass, LocalFunction, Partial, Symbol, Value

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)
_OWN = f"{API}.InferenceServerException"
_ANY = ("builtins.Exception", "builtins.BaseException")
#: Functions and methods that have another thread call what they are given.
_STARTING = frozenset(
    ("Thread", "Timer", "start_new_thread", "to_thread", "ThreadPool", "ThreadPoolExecutor")
    + ("submit", "apply_async", "run_in_executor")
)
_MAPPING = frozenset({"map", "imap", "imap_unordered", "map_async", "starmap"})
#: Ends of the names of classes whose methods are called by threads of a server.
_SERVING = ("Thread", "Handler", "Servicer", "Resource", "View")
#: Decorators of functions that a server calls.
_ROUTES = frozenset({"route", "get", "post", "put"})


class Calling:
    """The functions of a file that run where something else of it does."""

    def __init__(self, tree: ast.Module, evaluator: Evaluator) -> None:
        self._tree, self._evaluator = tree, evaluator
        self._properties: dict[str, list[Function]] = {}
        for node in ast.walk(tree):
            if isinstance(node, _DEFINED) and decorators(node) & PROPERTIES:
                self._properties.setdefault(node.name, []).append(node)

    def tried(self, by_name: bool) -> set[Function]:
        """The functions that run inside of a ``try`` which catches v1's exception.

        ``by_name``: by its own name; else by any that it is derived from, too.
        """
        names = (_OWN,) if by_name else (_OWN, *_ANY)
        found = (one for one in ast.walk(self._tree) if isinstance(one, ast.Try))
        bodies = (
            one.body for one in found if any(self._is_one(h.type, names) for h in one.handlers)
        )
        return self._reached(one for body in bodies for part in body for one in self._from(part))

    def in_threads(self) -> set[Function]:
        """The functions that other threads than the first one run."""
        return self._reached(one for node in ast.walk(self._tree) for one in self._started(node))

    def _is_one(self, node: ast.expr | None, names: tuple[str, ...]) -> bool:
        if isinstance(node, ast.Tuple):
            return any(self._is_one(one, names) for one in node.elts)
        if node is None:
            return _ANY[0] in names
        return any(Symbol(name) in self._evaluator.of(node) for name in names)

    def _started(self, node: ast.AST) -> Iterator[Function]:
        """The functions that a node has a thread call."""
        if isinstance(node, ast.Call) and _starts_threads(node.func):
            given = [*node.args, *(one.value for one in node.keywords)]
            partials = (one.args[:1] for one in given if isinstance(one, ast.Call))
            for one in (*given, *(first for firsts in partials for first in firsts)):
                yield from self._all_of(one)
        elif isinstance(node, ast.ClassDef):
            if any(spelt(base).endswith(_SERVING) for base in node.bases):
                methods = (one for one in node.body if isinstance(one, _DEFINED))
                yield from (one for one in methods if one.name != "__init__")
        elif isinstance(node, _DEFINED):
            calls = (one for one in node.decorator_list if isinstance(one, ast.Call))
            if any(getattr(one.func, "attr", "") in _ROUTES for one in calls):
                yield node

    def _reached(self, first: Iterable[Function]) -> set[Function]:
        """Functions, and all that they call."""
        found: set[Function] = set()
        left = list(first)
        while left:
            function = left.pop()
            if function not in found:
                found.add(function)
                left += self._from(function)
        return found

    def _from(self, node: ast.AST) -> Iterator[Function]:
        """The functions that the code of a node calls."""
        for one in ast.walk(node):
            if isinstance(one, ast.Call):
                yield from self._all_of(one.func)
            elif isinstance(one, ast.Attribute):
                yield from self._properties.get(one.attr, ())

    def _all_of(self, node: ast.expr) -> Iterator[Function]:
        """The functions that an expression can stand for."""
        for value in self._evaluator.of(node):
            yield from self._of(value)

    def _of(self, value: Value) -> Iterator[Function]:
        if isinstance(value, Partial):
            value = value.of
        if isinstance(value, LocalFunction):
            yield value.node
        elif isinstance(value, LocalClass):  # its __init__, and what an object is asked for
            methods = (one for one in value.node.body if isinstance(one, _DEFINED))
            yield from (one for one in methods if one.name.startswith("__"))


def _starts_threads(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr in _STARTING | _MAPPING
    return isinstance(function, ast.Name) and function.id in _STARTING

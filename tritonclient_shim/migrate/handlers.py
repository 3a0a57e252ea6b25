"""Find the statements that may handle an error of an expression."""

from __future__ import annotations

import ast
from typing import Sequence, Union

from tritonclient_shim.migrate.flows import Flows
from tritonclient_shim.scan.scopes import DEFINITIONS, last_name

#: Functions whose result handles errors in a ``with`` statement.
_CATCHING = frozenset(
    ("assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "raises", "subTest", "suppress")
)
#: Decorators that let errors of their function pass.
_PASSING = frozenset(
    ("abstractmethod", "classmethod", "contextmanager", "property", "setter", "staticmethod")
    + ("argument", "command", "option")  # of click
)
#: Code of these runs when the program reads its values, or calls it.
_LATER = (ast.Lambda, ast.GeneratorExp)
_WAITING = (ast.AsyncFunctionDef, ast.Yield, ast.YieldFrom)
_Handling = Union[ast.Try, ast.With, ast.AsyncWith]
_Named = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]


class Handlers:
    """The statements of a file that handle errors."""

    def __init__(self, tree: ast.Module, flows: Flows) -> None:
        self._flows = flows
        self._nodes = list(ast.walk(tree))
        definitions = [part for part in self._nodes if isinstance(part, DEFINITIONS)]
        self._names_in = {part: _names(part) for part in definitions}
        self._managers = {part.name for part in definitions if _is_catching_manager(part)}
        self._handling: list[_Handling] = []
        for part in self._nodes:
            if isinstance(part, (ast.Try, ast.With, ast.AsyncWith)) and self._handles(part):
                self._handling.append(part)
        tries = [part for part in self._nodes if isinstance(part, ast.Try)]
        self._ending = [part for part in tries if part.finalbody]

    def may_catch(self, node: ast.AST) -> bool:
        """True if a statement or decorator may handle an error of a node."""
        return self._are_around(self._handling, node)

    def may_notice(self, node: ast.AST) -> bool:
        """True if a statement may handle an error of a node, or goes on after it."""
        return self._are_around([*self._handling, *self._ending], node)

    def _are_around(self, statements: Sequence[_Handling], node: ast.AST) -> bool:
        """True if one of the statements has a node, or a name of a function or class with it."""
        around = set(self._flows.around(node))
        callers = self._callers(around)
        if any(self._has_catching_decorator(part) for part in callers):
            return True
        if self._runs_later(node, callers):
            return bool(statements) or self._reads_errors()
        names = {part.name for part in callers}
        return any(part in around or _names(*part.body) & names for part in statements)

    def _reads_errors(self) -> bool:
        """True if the file reads the errors of futures or tasks."""
        keywords = {part.arg for part in self._nodes if isinstance(part, ast.keyword)}
        return "exception" in self._flows.attributes or "return_exceptions" in keywords

    def _handles(self, node: _Handling) -> bool:
        """True for a statement that handles the errors of its body."""
        if isinstance(node, ast.Try):
            return bool(node.handlers)
        managers = {_called_name(item.context_expr) for item in node.items}
        return not managers.isdisjoint(_CATCHING | self._managers)

    def _callers(self, around: set[ast.AST]) -> list[_Named]:
        """Return the functions and classes around a node, and all that call these."""
        callers = [part for part in self._names_in if part in around]
        for caller in callers:  # the list grows
            for part, names in self._names_in.items():
                if caller.name in names and part not in callers:
                    callers.append(part)
        return callers

    def _has_catching_decorator(self, definition: _Named) -> bool:
        """True if a decorator may handle the errors of a function."""
        is_class = isinstance(definition, ast.ClassDef)
        names = map(_called_name, definition.decorator_list)
        return not is_class and not _PASSING.issuperset(names)

    def _runs_later(self, node: ast.AST, callers: list[_Named]) -> bool:
        """True if other code calls a function, awaits it, or iterates over a generator.

        A thread has no handlers for the errors of its target.
        """
        functions = [part for part in callers if not isinstance(part, ast.ClassDef)]
        if not self._is_at_once(node) or any(map(_is_late, functions)):
            return True
        names = {part.name for part in functions}
        reads = [part for part in self._flows.parents if last_name(part) in names]
        return any(map(self._is_for_later, reads))

    def _is_for_later(self, read: ast.AST) -> bool:
        """True if a function is read that is not called at once, nor in a thread."""
        parent = self._flows.parents[read]
        is_called = isinstance(parent, ast.Call) and parent.func is read
        is_target = isinstance(parent, ast.keyword) and parent.arg == "target"
        return not is_target and not (is_called and self._is_at_once(read))

    def _is_at_once(self, node: ast.AST) -> bool:
        """True unless a lambda or a generator expression has the node."""
        return not any(isinstance(part, _LATER) for part in self._flows.around(node))


def _is_late(function: ast.AST) -> bool:
    """True for a coroutine or generator: its code runs after the call."""
    parts = ast.walk(function)
    return any(isinstance(part, _WAITING) for part in parts)


def _is_catching_manager(definition: _Named) -> bool:
    """True if a ``with`` statement with a function or class may go on after an error."""
    if not isinstance(definition, ast.ClassDef):
        return any(isinstance(part, ast.Try) and part.handlers for part in ast.walk(definition))
    exits = [part for part in definition.body if getattr(part, "name", "") == "__exit__"]
    return any(isinstance(part, ast.Return) for method in exits for part in ast.walk(method))


def _called_name(node: ast.expr) -> str:
    """Return the last name of a function, or of the function of a call."""
    return last_name(getattr(node, "func", node))


def _names(*nodes: ast.AST) -> set[str]:
    """Return all names and attributes in some nodes."""
    return {last_name(part) for node in nodes for part in ast.walk(node)}

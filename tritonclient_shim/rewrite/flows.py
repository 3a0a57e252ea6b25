"""Group v1's objects by the code that uses them. A group is rewritten as a whole or not at all."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Iterator

from tritonclient_shim.migrate.evaluator import PROPERTIES, Evaluator, decorators, is_class
from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.scopes import FILLING, last_name
from tritonclient_shim.migrate.values import (
    HANDLE,
    REQUEST,
    STATUS,
    BoundMethod,
    Instance,
    Items,
    LocalClass,
    LocalFunction,
    Values,
)

CONTEXTS = tuple(
    f"{API}.{name}Context"
    for name in (
        *("Infer", "ServerHealth", "ServerStatus", "ModelRepository", "ModelControl"),
        "SharedMemoryControl",
    )
)
#: Methods that close a context.
CLOSING = frozenset({"close", "__exit__"})
_FOLLOWED = frozenset((*CONTEXTS, HANDLE, REQUEST, STATUS))
#: Calls that pass their arguments on, or ignore them.
_HARMLESS = frozenset(
    ("list", "tuple", "set", "dict", "enumerate", "iter", "next", "reversed", "sorted")
    + ("len", "partial", "Thread", "Process", "submit", "closing", "enter_context")
    + ("pop", "get", "remove", "bool", "deque", "async_run", "async_run_with_cb", "callable")
    + ("addCleanup", "setattr", "id", "print")
)
_CARRYING = (
    *(ast.Assign, ast.AnnAssign, ast.Return, ast.Yield, ast.Tuple, ast.List),
    *(ast.Dict, ast.Set, ast.Starred, ast.IfExp, ast.BoolOp, ast.withitem, ast.For, ast.Expr),
    *(ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda),
    *(ast.Compare, ast.UnaryOp, ast.If, ast.While, ast.Assert, ast.Delete, ast.AugAssign),
    ast.arguments,
)


@dataclass(eq=False)
class Group:
    """Objects that share expressions, so that all are rewritten or none."""

    kind: str
    creations: list[ast.Call] = field(default_factory=list)  # in the source's order
    calls: list[ast.Call] = field(default_factory=list)  # of their methods
    taken: list[ast.Attribute] = field(default_factory=list)  # attributes that are not called
    escapes: list[tuple[ast.AST, str]] = field(default_factory=list)


class Flows:
    """The groups of a file, by the calls that create their objects."""

    def __init__(self, tree: ast.Module, evaluator: Evaluator, taken: set[str]) -> None:
        self._evaluator, self._taken = evaluator, taken  # names that other files read
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(tree):
            self.parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
        self._of: dict[tuple[str, ast.Call], Group] = {}
        self._called = {
            value.node
            for call in evaluator.scopes.calls
            for value in evaluator.of(call.func)
            if isinstance(value, LocalFunction)
        }
        self._used = set(_used(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                self._see(node)

    @property
    def groups(self) -> list[Group]:
        """Return every group once."""
        return list(dict.fromkeys(self._of.values()))

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, the innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def group(self, kind: str, creation: ast.Call) -> Group | None:
        """Return the group of the object that a call creates."""
        return self._of.get((kind, creation))

    def of(self, node: ast.AST, kinds: frozenset[str] = _FOLLOWED) -> list[Group]:
        """Return the groups of the objects that an expression can stand for."""
        values = self._evaluator.of(node)
        instances = (value for value in values if isinstance(value, Instance) and value.of in kinds)
        groups = (self._of.get((item.of, item.creation)) for item in instances if item.creation)
        return list(dict.fromkeys(group for group in groups if group))

    def _see(self, node: ast.expr) -> None:
        values = self._evaluator.of(node)
        own = [value for value in values if isinstance(value, Instance) and value.of in _FOLLOWED]
        if own:
            self._note(node, own)
        else:
            for item in _inside(values):
                self._contained(node, item)

    def _note(self, node: ast.expr, own: list[Instance]) -> None:
        by_kind: dict[str, Group] = {}
        for element in own:
            if element.creation is None:
                continue
            group = self._of.setdefault(
                (element.of, element.creation), Group(element.of, [element.creation])
            )
            by_kind[element.of] = self._joined(by_kind.get(element.of), group)
        for group in by_kind.values():
            self._use(node, group, len(by_kind) > 1)

    def _joined(self, first: Group | None, other: Group) -> Group:
        if first is None or first is other:
            return other
        first.creations.extend(other.creations)
        first.creations.sort(key=lambda call: (call.lineno, call.col_offset))
        first.calls += other.calls
        first.taken += other.taken
        first.escapes += other.escapes
        self._of.update({(first.kind, creation): first for creation in other.creations})
        return first

    def _use(self, node: ast.expr, group: Group, mixed: bool) -> None:
        parent = self.parents[node]
        if isinstance(parent, ast.Attribute):
            outer = self.parents[parent]
            if isinstance(outer, ast.Call) and outer.func is parent:
                if outer not in group.calls:
                    group.calls.append(outer)
            elif not parent.attr[:1].isupper():
                group.taken.append(parent)
            if mixed:
                group.escapes.append((node, "it may be an object of one class or another here"))
            return
        if any(map(self._is_taken, (node, *getattr(parent, "targets", ())))):
            group.escapes.append((node, "another file reads it"))
        reason = self._escape(node, parent, group.kind)
        if reason:
            group.escapes.append((node, reason))

    def _is_taken(self, node: ast.expr) -> bool:
        """True for an attribute or a variable of the module that another file reads."""
        scopes = self._evaluator.scopes
        shared = isinstance(node, ast.Attribute) or scopes.owner(node) is scopes.module
        return shared and last_name(node) in self._taken

    def _contained(self, node: ast.expr, instance: Instance) -> None:
        parent, kind = self.parents[node], instance.of
        if instance.creation and isinstance(parent, (ast.Call, ast.keyword)):
            reason = self._escape(node, parent, kind)
            new = Group(kind, [instance.creation])
            if reason:
                self._of.setdefault((kind, instance.creation), new).escapes.append((node, reason))

    def _escape(self, node: ast.expr, parent: ast.AST, kind: str) -> str:
        """Return why the next use of an object is unknown; '' if it is known."""
        if isinstance(parent, ast.keyword):
            parent = self.parents[parent]
        if isinstance(parent, ast.Call):
            shows = kind == REQUEST and last_name(parent.func) == "print"
            is_known = not shows and self._known(parent, node)
            return "" if is_known else f"{last_name(parent.func) or 'a call'}() gets it"
        if isinstance(parent, (ast.Return, ast.Yield)) and not self._is_called(parent):
            return "its function returns it"
        if isinstance(parent, ast.Subscript) and parent.slice is node:
            return ""
        if isinstance(parent, _CARRYING) or type(parent).__name__ in ("Index", "Match"):
            return ""
        return "it is used in an expression"

    def _is_called(self, node: ast.AST) -> bool:
        """True if the file calls the function that a node is in."""
        function = self._evaluator.scopes.places[node].scope.node
        name = getattr(function, "name", "")
        return name not in self._taken and (function in self._called or name in self._used)

    def _known(self, call: ast.Call, node: ast.expr) -> bool:
        if call.func is node:
            return False
        values = self._evaluator.of(call.func)
        local = any(isinstance(value, (LocalFunction, LocalClass)) for value in values)
        methods = (value for value in values if isinstance(value, BoundMethod))
        own = any(
            isinstance(item.owner, Instance) and item.owner.of in CONTEXTS for item in methods
        )
        shared = any(
            str(getattr(value, "name", "")).startswith("tensorrtserver.") for value in values
        ) and not any(is_class(str(getattr(value, "name", ""))) for value in values)
        name = last_name(call.func)
        if name in {*FILLING, "setdefault"}:
            return any(isinstance(getattr(value, "owner", None), Items) for value in values)
        return local or own or shared or name in _HARMLESS


def _used(tree: ast.Module) -> Iterator[str]:
    """Yield the names of properties and ``__getitem__``: programs call them without brackets."""
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = (node for node in ast.walk(tree) if isinstance(node, kinds) and node.name in read)
    yield from (function.name for function in functions if decorators(function) & PROPERTIES)
    if any(isinstance(node, ast.Subscript) for node in ast.walk(tree)):
        yield "__getitem__"


def _inside(values: Values) -> list[Instance]:
    instances: list[Instance] = []
    for value in values:
        if isinstance(value, Items):
            inner = value.any
            instances += [x for x in inner if isinstance(x, Instance) and x.of in _FOLLOWED]
            instances += _inside(inner)
    return instances

"""Which objects of v1's the same code uses: they are rewritten together or not at all."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Iterator

from tritonclient_shim.migrate.calls import is_class
from tritonclient_shim.migrate.classes import PROPERTIES, decorators
from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.scopes import spelt
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
#: Methods that close a context; so does leaving what :data:`_MANAGING` or ``with`` makes of it.
CLOSING = frozenset({"close", "__exit__"})
_MANAGING = frozenset({"closing", "enter_context"})
_FOLLOWED = frozenset((*CONTEXTS, HANDLE, REQUEST, STATUS))
#: Calls that hand on what they are given, or forget it.
_HARMLESS = frozenset(
    ("list", "tuple", "set", "dict", "zip", "enumerate", "iter", "next", "reversed", "sorted")
    + ("len", "partial", "Thread", "Process", "submit", "map", "closing", "enter_context")
    + ("pop", "get", "remove", "bool", "deque", "async_run", "async_run_with_cb", "callable")
    + ("addCleanup", "setattr", "id")
)
#: Methods that put something into a container.
_FILLING = frozenset(
    ("append", "appendleft", "add", "insert", "setdefault", "put", "put_nowait", "extend")
    + ("update",)
)
_CARRYING = (
    *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Yield, ast.Tuple, ast.List),
    *(ast.Dict, ast.Set, ast.Starred, ast.IfExp, ast.BoolOp, ast.withitem, ast.For, ast.Expr),
    *(ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda),
    *(ast.Compare, ast.UnaryOp, ast.If, ast.While, ast.Assert, ast.Delete, ast.AugAssign),
    *(ast.YieldFrom, ast.Await, ast.arguments),
)


@dataclass(eq=False)
class Group:
    """Objects that the same expressions can stand for."""

    kind: str
    made: set[ast.Call] = field(default_factory=set)
    calls: list[ast.Call] = field(default_factory=list)  # of their methods
    taken: list[ast.Attribute] = field(default_factory=list)  # attributes that are not called
    escapes: list[tuple[ast.AST, str]] = field(default_factory=list)
    managed: bool = False  # by a ``with`` statement or the like, which closes them

    @property
    def closed(self) -> bool:
        """Whether the program closes one of them."""
        used = (*(call.func for call in self.calls), *self.taken)
        return self.managed or any(getattr(one, "attr", "") in CLOSING for one in used)


class Flows:
    """The groups of a file, by the calls that make their objects."""

    def __init__(self, tree: ast.Module, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(tree):
            self.parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
        self._of: dict[tuple[str, ast.Call], Group] = {}
        self.unknown: list[tuple[str, ast.AST]] = []  # objects whose making is not known
        self._called = {
            one.node
            for call in evaluator.scopes.calls
            for one in evaluator.of(call.func)
            if isinstance(one, LocalFunction)
        }
        self._used = set(_used(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.expr) and node in evaluator.scopes.places:
                self._see(node)

    @property
    def groups(self) -> list[Group]:
        """Every group once."""
        return list(dict.fromkeys(self._of.values()))

    def group(self, kind: str, made: ast.Call) -> Group | None:
        """The group of what a call makes."""
        return self._of.get((kind, made))

    def of(self, node: ast.AST, kinds: frozenset[str] = _FOLLOWED) -> list[Group]:
        """The groups of the objects that an expression can stand for."""
        values = self._evaluator.of(node)
        found = (one for one in values if isinstance(one, Instance) and one.of in kinds)
        groups = (self._of.get((one.of, one.made)) for one in found if one.made)
        return list(dict.fromkeys(group for group in groups if group))

    def _see(self, node: ast.expr) -> None:
        values = self._evaluator.of(node)
        own = [one for one in values if isinstance(one, Instance) and one.of in _FOLLOWED]
        if own:
            self._note(node, own)
        else:
            for one in _inside(values):
                self._contained(node, one)

    def _note(self, node: ast.expr, own: list[Instance]) -> None:
        by_kind: dict[str, Group] = {}
        known = {one.of for one in own if one.made}
        for one in own:
            if one.made is None:
                self.unknown += [] if one.of in known else [(one.of, node)]
                continue
            group = self._of.setdefault((one.of, one.made), Group(one.of, {one.made}))
            by_kind[one.of] = self._joined(by_kind.get(one.of), group)
        for group in by_kind.values():
            self._use(node, group, len(by_kind) > 1)

    def _joined(self, one: Group | None, other: Group) -> Group:
        if one is None or one is other:
            return other
        one.made |= other.made
        one.calls += other.calls
        one.taken += other.taken
        one.escapes += other.escapes
        one.managed |= other.managed
        self._of.update({(one.kind, made): one for made in other.made})
        return one

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
        if isinstance(parent, ast.withitem) or _called(parent) in _MANAGING:
            group.managed = True
        reason = self._escape(node, parent)
        if reason:
            group.escapes.append((node, reason))

    def _contained(self, node: ast.expr, one: Instance) -> None:
        group = self._of.get((one.of, one.made)) if one.made else None
        parent = self.parents[node]
        if group and isinstance(parent, (ast.Call, ast.keyword)):
            reason = self._escape(node, parent)
            if reason:
                group.escapes.append((node, reason))

    def _escape(self, node: ast.expr, parent: ast.AST) -> str:
        """Why it is not known what happens to an object from here on; '' where it is."""
        if isinstance(parent, ast.keyword):
            parent = self.parents[parent]
        if isinstance(parent, ast.Call):
            return (
                "" if self._known(parent, node) else f"{spelt(parent.func) or 'a call'}() gets it"
            )
        if isinstance(parent, (ast.Return, ast.Yield)) and not self._is_called(parent):
            return "its function returns it"
        if isinstance(parent, ast.Subscript) and parent.slice is node:
            return ""
        if isinstance(parent, _CARRYING) or type(parent).__name__ in ("Index", "Match"):
            return ""
        return "it is used in an expression"

    def _is_called(self, node: ast.AST) -> bool:
        """Whether the file calls the function that a node is in."""
        place = self._evaluator.scopes.places[node]
        function = place.scope.frame.node
        return function in self._called or getattr(function, "name", "") in self._used

    def _known(self, call: ast.Call, node: ast.expr) -> bool:
        if call.func is node:
            return False
        values = self._evaluator.of(call.func)
        local = any(isinstance(one, (LocalFunction, LocalClass)) for one in values)
        methods = (one for one in values if isinstance(one, BoundMethod))
        own = any(isinstance(one.owner, Instance) and one.owner.of in CONTEXTS for one in methods)
        shared = any(
            str(getattr(one, "name", "")).startswith("tensorrtserver.") for one in values
        ) and not any(is_class(str(getattr(one, "name", ""))) for one in values)
        name = _called(call)
        if name in _FILLING:
            return any(isinstance(getattr(one, "owner", None), Items) for one in values)
        return local or own or shared or name in _HARMLESS


def _called(node: ast.AST) -> str:
    """The last name of what a call calls; '' for another node."""
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _used(tree: ast.Module) -> Iterator[str]:
    """The names of properties and of ``__getitem__``, which are called without parentheses."""
    read = {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)}
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = (one for one in ast.walk(tree) if isinstance(one, kinds) and one.name in read)
    yield from (one.name for one in functions if decorators(one) & PROPERTIES)
    if any(isinstance(one, ast.Subscript) for one in ast.walk(tree)):
        yield "__getitem__"


def _inside(values: Values) -> list[Instance]:
    found: list[Instance] = []
    for one in values:
        if isinstance(one, Items):
            inner = one.any
            found += [x for x in inner if isinstance(x, Instance) and x.of in _FOLLOWED]
            found += _inside(inner)
    return found

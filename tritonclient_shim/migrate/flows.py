"""Group v1's objects by the code that uses them. A group is rewritten as a whole or not at all."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Iterator

from tritonclient_shim.registry import BY_SYMBOL
from tritonclient_shim.scan.evaluator import PROPERTIES, Evaluator, decorators, new_instances
from tritonclient_shim.scan.scopes import ADDING, EXTENDING, last_name
from tritonclient_shim.scan.values import (
    HANDLE,
    LITERAL,
    REQUEST,
    STATUS,
    BoundMethod,
    Instance,
    Items,
    LocalFunction,
    Other,
    Symbol,
    Values,
    element,
)

CONTEXTS = tuple(symbol for symbol in BY_SYMBOL if symbol.endswith("Context"))
#: Methods that close a context.
CLOSING = frozenset({"close", "__exit__"})
_FOLLOWED = frozenset((*CONTEXTS, HANDLE, REQUEST, STATUS))
#: Calls that show their arguments: ``print``, and methods of loggers.
SHOWING = frozenset(
    ("print", "debug", "info", "warning", "warn", "error", "exception", "critical", "log")
)
#: Calls that pass their arguments on, or ignore them.
_HARMLESS = SHOWING | frozenset(
    ("list", "tuple", "set", "dict", "enumerate", "iter", "next", "reversed", "sorted", "deque")
    + ("len", "partial", "Thread", "Process", "submit", "closing", "enter_context", "addCleanup")
    + ("zip", "id")
)
#: Code that gets a container gets the objects in it.
_TAKING_CONTAINERS = (
    *(ast.Call, ast.Starred, ast.Return, ast.Yield, ast.Lambda),
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.withitem),
    *(ast.Await, ast.YieldFrom),
)
#: Nodes that make something new of an object, or bind it to a name unseen.
_CHANGING = (
    *(ast.BinOp, ast.FormattedValue, ast.NamedExpr, ast.Await, ast.YieldFrom),
    getattr(ast, "Match", ast.NamedExpr),  # since Python 3.10
)


@dataclass(frozen=True)
class Group:
    """Objects that share expressions, so that all are rewritten or none.

    ``creations``: in the source's order; they tell groups apart. ``calls``: of their methods.
    ``taken``: attributes that are not called. ``escapes``: uses that lead to unknown code.
    """

    kind: str
    creations: tuple[ast.Call, ...] = ()
    calls: tuple[ast.Call, ...] = field(default=(), compare=False)
    taken: tuple[ast.Attribute, ...] = field(default=(), compare=False)
    escapes: tuple[ast.AST, ...] = field(default=(), compare=False)


class Flows:
    """The groups of a file, by their objects."""

    def __init__(self, tree: ast.Module, evaluator: Evaluator, taken: frozenset[str]) -> None:
        nodes = list(ast.walk(tree))
        self._evaluator = evaluator
        self.parents = {part: node for node in nodes for part in ast.iter_child_nodes(node)}
        self.attributes = frozenset(x.attr for x in nodes if isinstance(x, ast.Attribute))
        gathering = _Gathering(nodes, self.parents, self.attributes, evaluator, taken)
        groups = {growing: growing.group() for growing in gathering.groups}
        self.groups = tuple(groups.values())
        self._of = {item: groups[growing] for item, growing in gathering.of_object.items()}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, the innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def of(self, node: ast.AST) -> list[Group]:
        """Return the groups of the objects that an expression can stand for."""
        return list(dict.fromkeys(self._of[item] for item in _objects(self._evaluator.of(node))))


@dataclass(eq=False)
class _Growing:
    """A group whose uses are being collected."""

    kind: str
    creations: list[ast.Call]
    calls: list[ast.Call] = field(default_factory=list)
    taken: list[ast.Attribute] = field(default_factory=list)
    escapes: list[ast.AST] = field(default_factory=list)

    def group(self) -> Group:
        """Return the group with all its uses."""
        return Group(
            self.kind,
            creations=tuple(self.creations),
            calls=tuple(self.calls),
            taken=tuple(self.taken),
            escapes=tuple(self.escapes),
        )


class _Gathering:
    """Collects the uses of all groups."""

    def __init__(
        self,
        nodes: list[ast.AST],
        parents: dict[ast.AST, ast.AST],
        attributes: frozenset[str],
        evaluator: Evaluator,
        taken: frozenset[str],
    ) -> None:
        self._evaluator = evaluator
        self._taken = taken  # names that other files read
        self._parents = parents
        self._attributes = attributes
        functions = (value for call in evaluator.scopes.calls for value in evaluator.of(call.func))
        self._called = {value.node for value in functions if isinstance(value, LocalFunction)}
        self.of_object: dict[Instance, _Growing] = {}
        expressions = [node for node in nodes if isinstance(node, ast.expr)]
        for node in expressions:
            self._join(_objects(evaluator.of(node)))
        for node in expressions:
            self._use(node, self._parents[node])
        self.groups = list(dict.fromkeys(self.of_object.values()))
        for call in evaluator.scopes.calls:
            self._note_unknown(call)
        for node in expressions:
            self._note_unknown_reference(node)

    def _join(self, objects: list[Instance]) -> None:
        """Make one group of all objects of a class, and of the groups that they are in."""
        for kind in {item.of for item in objects}:
            own = [item for item in objects if item.of == kind]
            known = (self.of_object[item].creations for item in own if item in self.of_object)
            calls = {item.creation for item in own if item.creation}.union(*known)
            joined = _Growing(kind, sorted(calls, key=lambda call: (call.lineno, call.col_offset)))
            self.of_object.update({Instance(kind, call): joined for call in calls})

    def _use(self, node: ast.expr, parent: ast.AST) -> None:
        """Add a use to the groups of its objects. Calls use what is in a container, too."""
        if isinstance(parent, ast.keyword):
            parent = self._parents[parent]
        groups = self._groups_of(node)
        is_mixed = len(groups) > 1 or isinstance(parent, ast.Attribute) and self._is_mixed(node)
        if isinstance(parent, _TAKING_CONTAINERS):
            inside = _inside(self._evaluator.of(node))
            groups += [self.of_object[item] for item in inside if item in self.of_object]
        for group in groups:
            if isinstance(parent, ast.Attribute) and not parent.attr[:1].isupper():
                outer = self._parents[parent]
                if isinstance(outer, ast.Call) and outer.func is parent:
                    group.calls.append(outer)
                else:
                    group.taken.append(parent)
            if is_mixed or self._escapes(node, parent, group.kind):
                group.escapes.append(node)

    def _groups_of(self, node: ast.expr) -> list[_Growing]:
        """Return the groups of the objects that an expression can stand for."""
        objects = _objects(self._evaluator.of(node))
        return list(dict.fromkeys(self.of_object[item] for item in objects))

    def _is_lost(self, node: ast.expr, call: ast.Call) -> bool:
        """True if a method of a container gets an object in a way that nobody follows.

        So it is if another file has the container.
        """
        functions = self._evaluator.of(call.func)
        if isinstance(call.func, ast.Attribute) and self._is_taken(call.func.value):
            return True
        is_adding = last_name(call.func) in ADDING | EXTENDING and node in call.args[-1:]
        methods = (value for value in functions if isinstance(value, BoundMethod))
        return not is_adding and any(isinstance(value.owner, Items) for value in methods)

    def _note_unknown(self, call: ast.Call) -> None:
        """Add the call of a context's method to all groups whose objects the call may have."""
        method = call.func
        if not isinstance(method, ast.Attribute) or self._is_known_object(method.value):
            return
        for group in self.groups:
            if f"{group.kind}.{method.attr}" not in BY_SYMBOL or method.attr in CLOSING:
                continue
            if not group.kind.endswith(".InferContext"):
                group.escapes.append(call)
                continue
            if method.attr != "run":
                continue  # its name alone shows that it is v1's
            has_tensors = len(call.args) + len(call.keywords) > 1
            if has_tensors or not any(last_name(x.func) not in CLOSING for x in group.calls):
                group.escapes.append(call)

    def _note_unknown_reference(self, node: ast.expr) -> None:
        """Add a method that is read of an unknown object to all groups whose objects it may be."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return
        parent = self._parents[node]
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if is_called or self._is_known_object(node.value):
            return
        for group in self.groups:
            if f"{group.kind}.{node.attr}" in BY_SYMBOL and node.attr not in CLOSING:
                group.escapes.append(node)

    def _is_known_object(self, node: ast.expr) -> bool:
        """True if an expression stands for objects of classes and modules that are known."""
        values = self._evaluator.of(node)
        return bool(values) and not any(isinstance(x, (Items, Other)) for x in values)

    def _is_mixed(self, node: ast.expr) -> bool:
        """True if an expression with an object of v1 may be something else in another turn."""
        values = self._evaluator.of(node)
        return any(value is not LITERAL and value not in self.of_object for value in values)

    def _escapes(self, node: ast.expr, parent: ast.AST, kind: str) -> bool:
        """True if what a program does next with an object is unknown."""
        if isinstance(parent, ast.Call):
            is_shown = kind in (REQUEST, STATUS) and last_name(parent.func) in SHOWING
            return is_shown or not self._is_known(parent) or self._is_lost(node, parent)
        if isinstance(parent, (ast.Return, ast.Yield)):
            return not self._is_called(parent)
        if isinstance(parent, ast.Lambda):
            return bool(self._taken) or not self._is_called(node)
        targets = _targets(parent)
        if any(isinstance(x, ast.Attribute) and not self._evaluator.of(x) for x in targets):
            return True  # the attribute may be something else by the time it is read
        if any(map(self._is_of_another_file, targets)) or isinstance(parent, ast.Starred):
            return True
        if any(map(self._is_outside, _containers(parent))):
            return True
        return isinstance(parent, _CHANGING) or any(map(self._is_taken, (node, *targets)))

    def _is_of_another_file(self, target: ast.expr) -> bool:
        """True for an attribute or element of what the file imports."""
        if not isinstance(target, (ast.Attribute, ast.Subscript)):
            return False
        owners = self._evaluator.of(target.value)
        return any(isinstance(value, Symbol) for value in owners)

    def _is_outside(self, container: ast.expr) -> bool:
        """True if other code may read what is put into a container."""
        values = self._evaluator.of(container)
        is_own = bool(values) and all(isinstance(value, Items) for value in values)
        return not is_own or self._is_taken(container)

    def _is_taken(self, node: ast.expr) -> bool:
        """True for an attribute, or a variable of a module or class, that another file reads."""
        owner = self._evaluator.scopes.owner(node)
        is_shared = owner is not None and isinstance(owner.node, (ast.Module, ast.ClassDef))
        return (is_shared or isinstance(node, ast.Attribute)) and last_name(node) in self._taken

    def _is_called(self, node: ast.AST) -> bool:
        """True if only this file calls the function, or reads the property, that a node is in."""
        function: Any = self._evaluator.scopes.places[node].scope.node
        name = getattr(function, "name", "")
        is_read = name in self._attributes and not PROPERTIES.isdisjoint(decorators(function))
        return name not in self._taken and (is_read or function in self._called)

    def _is_known(self, call: ast.Call) -> bool:
        """True if the evaluator follows the arguments of a call, or the function ignores them."""
        values = self._evaluator.of(call.func)
        followed = any(isinstance(value, (LocalFunction, BoundMethod)) for value in values)
        is_v1 = self._evaluator.is_of_v1(call.func)
        return followed or is_v1 or bool(new_instances(values)) or last_name(call.func) in _HARMLESS


def _targets(parent: ast.AST) -> list[ast.expr]:
    """Return what an assignment, a loop or a ``with`` statement binds."""
    single = getattr(parent, "target", getattr(parent, "optional_vars", None))
    targets = getattr(parent, "targets", [single])
    unpacked = [getattr(target, "elts", [target]) for target in targets]
    return [target for part in unpacked for target in part if target is not None]


def _containers(parent: ast.AST) -> list[ast.expr]:
    """Return the containers that an assignment changes."""
    targets = _targets(parent)
    changed = [target.value for target in targets if isinstance(target, ast.Subscript)]
    return [*changed, *targets] if isinstance(parent, ast.AugAssign) else changed


def _objects(values: Values) -> list[Instance]:
    """Return the objects with groups."""
    return [x for x in values if isinstance(x, Instance) and x.of in _FOLLOWED and x.creation]


def _inside(values: Values) -> list[Instance]:
    """Return the objects in containers."""
    inner = element(values)
    return [*_objects(inner), *_inside(inner)] if inner else []

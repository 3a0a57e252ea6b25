"""Expressions of a file → what they can stand for.

An abstract interpretation: each expression has a set of values, and what the parameters of a
function can be is collected from the calls in the file, until nothing changes.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Callable

from tritonclient_shim.migrate import calls, hints
from tritonclient_shim.migrate.classes import Classes
from tritonclient_shim.migrate.flow import reaching
from tritonclient_shim.migrate.imports import Imports
from tritonclient_shim.migrate.scope_builder import Scopes
from tritonclient_shim.migrate.scopes import Binding, Definition, Kind, parameters, spelt
from tritonclient_shim.migrate.values import (
    LITERAL,
    UNKNOWN,
    BoundMethod,
    Instance,
    Items,
    LocalClass,
    LocalFunction,
    LocalInstance,
    Symbol,
    Value,
    Values,
    element,
    items,
    union,
)

_ANY_ERROR = {Symbol("builtins.Exception"), Symbol("builtins.BaseException")}
_ROUNDS = 8
_DEPTH = 150  # of expressions that are looked up for one another


class Evaluator:
    """An evaluator of the expressions of a file."""

    def __init__(self, tree: ast.Module, imports: Imports) -> None:
        self.imports = imports
        self.scopes = Scopes(tree, imports)
        self._classes = Classes(self)
        self._passed: dict[ast.AST, Values] = {}  # parameter → what it is called with
        self._known: dict[ast.AST, Values] = {}
        self._before: dict[ast.AST, Values] = {}  # of the round before, for what is in a circle
        self._active: set[ast.AST] = set()
        for _ in range(_ROUNDS if imports.legacy or imports.vendored else 0):
            self._before, self._known = self._known, {}
            passed = dict(self._passed)
            for call in self.scopes.calls:
                self._pass(call)
            for decorator, function in self.scopes.decorated:
                for item in self._functions(decorator):
                    self._give(item, [frozenset({LocalFunction(function)})], {})
            if self._known == self._before and passed == self._passed:
                break

    def of(self, node: ast.AST) -> Values:
        """Return the possible values of an expression; nothing if they are unknown."""
        if node in self._known:
            return self._known[node]
        rule = _RULES.get(type(node))
        if rule is None or node in self._active or len(self._active) > _DEPTH:
            return self._before.get(node, UNKNOWN)
        self._active.add(node)
        values = rule(node, self)
        self._active.discard(node)
        self._known[node] = values
        return values

    def is_provided(self, node: ast.AST) -> bool:
        """True if a name comes from a star import alone."""
        place = self.scopes.places.get(node)
        name = node.id if isinstance(node, ast.Name) else ""
        return bool(place and name in self.imports.star and not place.scope.owner(name))

    def names(self, node: ast.Name | ast.Attribute) -> bool:
        """True if an expression names what it stands for; a variable only holds it."""
        if isinstance(node, ast.Attribute):
            owners = self.of(node.value)
            known = any(isinstance(item, (Symbol, Instance)) for item in owners)
            return known or not self.of(node)
        place = self.scopes.places.get(node)
        owner = place.scope.owner(node.id) if place else None
        bindings = owner.bindings[node.id] if owner else ()
        imported = (binding.definition.kind is Kind.IMPORTED for binding in bindings)
        return owner is None or node.id in self.imports.star or any(imported)

    def is_any_error(self, node: ast.AST) -> bool:
        """True if a name is what ``except Exception as name`` has caught."""
        place = self.scopes.places.get(node)
        owner = place.scope.owner(node.id) if place and isinstance(node, ast.Name) else None
        if place is None or owner is None or not isinstance(node, ast.Name):
            return False
        caught = [part.definition for part in reaching(owner.bindings[node.id], place)]
        return bool(caught) and all(
            item.kind is Kind.RAISED and _ANY_ERROR & self.of(item.node) for item in caught
        )

    # --- names and attributes

    def _name(self, node: ast.Name) -> Values:
        place = self.scopes.places.get(node)
        owner = place.scope.owner(node.id) if place else None
        if place is None or owner is None:
            return self._elsewhere(node.id)
        candidates = [self._bound(item) for item in reaching(owner.bindings[node.id], place)]
        if owner.frame is not place.scope.frame and not all(candidates):
            return UNKNOWN  # it may be something else by then
        values = union(candidates)
        if values == {LITERAL} and owner is self.scopes.module and node.id in self.imports.star:
            return self._elsewhere(node.id)  # bound where the import fails
        return values

    def _elsewhere(self, name: str) -> Values:
        """Return what a name stands for that the file does not bind."""
        known = self.imports.star.get(name)
        if known:
            return frozenset({Symbol(known)})
        return frozenset({Symbol(f"builtins.{name}")}) if hasattr(builtins, name) else UNKNOWN

    def _attribute(self, node: ast.Attribute) -> Values:
        values = union(self.member(item, node.attr) for item in self.of(node.value))
        return values or self._spelt(node) or self._of_anything(node)

    def member(self, owner: Value, name: str) -> Values:
        """Return what an attribute of a value can be."""
        if isinstance(owner, Symbol):
            return frozenset({Symbol(f"{owner.name}.{name}")})
        if isinstance(owner, Instance) and name[:1].isupper():  # a class in it: ResultFormat
            return frozenset({Symbol(f"{owner.of}.{name}")})
        if isinstance(owner, (Instance, Items)):
            return frozenset({BoundMethod(owner, name)})
        if isinstance(owner, (LocalClass, LocalInstance)):
            return self._classes.attribute(owner, name)
        return UNKNOWN

    def _spelt(self, node: ast.Attribute) -> Values:
        """Return what is assigned to an attribute of the same name, as ``flags.context``."""
        text = spelt(node)
        place = self.scopes.places.get(node)
        if not text or place is None:
            return UNKNOWN
        head = text.partition(".")[0]
        same = [
            binding
            for target, binding in self.scopes.attributes.get(node.attr, ())
            if spelt(target) == text and binding.place.scope.owner(head) is place.scope.owner(head)
        ]
        return union(self._bound(item) for item in reaching(same, place))

    def _of_anything(self, node: ast.Attribute) -> Values:
        """Return what the file assigns to any attribute of this name, if the owner is unknown."""
        if self.of(node.value):
            return UNKNOWN
        return union(
            self._bound(binding) for _, binding in self.scopes.attributes.get(node.attr, ())
        )

    def _bound(self, binding: Binding) -> Values:
        return self.definition(binding.definition)

    def definition(self, definition: Definition) -> Values:
        """Return what a binding gives to its name."""
        values = self._whole(definition)
        for step in definition.steps:
            values = element(values, step)
        for _ in range(definition.wraps):
            values = items([values])
        return values

    def _whole(self, definition: Definition) -> Values:
        node = definition.node
        if definition.kind is Kind.IMPORTED:
            return frozenset({Symbol(definition.symbol)}) if definition.symbol else UNKNOWN
        if definition.kind is Kind.DEFINED:
            local = LocalClass(node) if isinstance(node, ast.ClassDef) else LocalFunction(node)  # type: ignore[arg-type]
            return frozenset({local})
        if definition.kind is Kind.PARAMETER:
            return self._parameter(node)
        if isinstance(node, ast.AnnAssign):
            assigned = UNKNOWN if node.value is None else self.of(node.value)
            return hints.values(node.annotation, self) | assigned
        values = self.of(node)
        if definition.kind is Kind.RAISED:
            kinds = element(values) | values
            return union(calls.new_instances(item) for item in kinds)
        if definition.kind is Kind.ENTERED:
            return union(self._classes.entered(value) for value in values)
        return values

    def _parameter(self, node: ast.AST) -> Values:
        scope = self.scopes.places[node].scope
        values = self._passed.get(node, UNKNOWN)
        if isinstance(node, ast.arg) and node.annotation is not None:
            values |= hints.values(node.annotation, self)
        if node in self.scopes.defaults:
            values |= self.of(self.scopes.defaults[node])
        return values | self._classes.first_parameter(scope, node)

    # --- calls

    def _call(self, node: ast.Call) -> Values:
        values = union(calls.result(item, node, self) for item in self.of(node.func))
        return values or calls.same(node, self)

    def returned(self, function: LocalFunction) -> Values:
        """Return what a function of the file returns: for a generator, a container of values."""
        scope = self.scopes.of_node[function.node]
        if scope.yielded:
            return items([union(self.of(part) for part in scope.yielded)])
        annotation = getattr(function.node, "returns", None)
        declared = hints.values(annotation, self) if annotation is not None else UNKNOWN
        return declared | union(self.of(item) for item in scope.returned)

    def attribute_of_object(self, node: ast.ClassDef, name: str) -> Values:
        """Return what an attribute of the objects of a class of the file can be."""
        return self._classes.attribute(LocalInstance(node), name)

    def _pass(self, call: ast.Call) -> None:
        """Note what a call gives to the parameters of functions of the file."""
        for target, positional, named in calls.targets(call, self):
            for function in self._functions(target):
                self._give(function, positional, named)

    def _give(
        self, function: LocalFunction, positional: list[Values], named: dict[str, ast.expr]
    ) -> None:
        known = parameters(function.node)[int(function.bound) :]
        pairs = list(zip(known, positional))
        by_name = (*known, *function.node.args.kwonlyargs)
        pairs += [(item, self.of(named[item.arg])) for item in by_name if item.arg in named]
        for parameter, values in pairs:
            self._passed[parameter] = self._passed.get(parameter, UNKNOWN) | values

    def _functions(self, target: ast.expr) -> list[LocalFunction]:
        functions = []
        for value in self.of(target):
            if isinstance(value, LocalClass):
                methods = self.attribute_of_object(value.node, "__init__")
                functions += [init for init in methods if isinstance(init, LocalFunction)]
            elif isinstance(value, LocalFunction):
                functions.append(value)
        return functions


# ------------------------------------------- expressions other than names, attributes and calls


def _sequence(node: ast.Tuple | ast.List | ast.Set, evaluator: Evaluator) -> Values:
    if any(isinstance(candidate, ast.Starred) for candidate in node.elts):
        return items([union(_unpacked(part, evaluator) for part in node.elts)])
    return items([evaluator.of(item) for item in node.elts], range(len(node.elts)))


def _unpacked(node: ast.expr, evaluator: Evaluator) -> Values:
    if isinstance(node, ast.Starred):
        return element(evaluator.of(node.value))
    return evaluator.of(node)


def _dict(node: ast.Dict, evaluator: Evaluator) -> Values:
    values = [
        evaluator.of(value) if key is not None else element(evaluator.of(value))
        for key, value in zip(node.keys, node.values)
    ]
    keys = [item.value for item in node.keys if isinstance(item, ast.Constant)]
    return items(values, keys)


def _subscript(node: ast.Subscript, evaluator: Evaluator) -> Values:
    index = hints.index(node)
    if isinstance(index, ast.Slice):
        return items([element(evaluator.of(node.value))])
    key = index.value if isinstance(index, ast.Constant) else None
    owners = evaluator.of(node.value)
    return element(owners, key) | union(_got(item, evaluator) for item in owners)


def _got(owner: Value, evaluator: Evaluator) -> Values:
    """Return what ``__getitem__`` of an object of a class of the file returns."""
    if not isinstance(owner, LocalInstance):
        return UNKNOWN
    methods = evaluator.attribute_of_object(owner.node, "__getitem__")
    return union(evaluator.returned(item) for item in methods if isinstance(item, LocalFunction))


def _operation(node: ast.BinOp, evaluator: Evaluator) -> Values:
    both = evaluator.of(node.left) | evaluator.of(node.right)
    return items([element(both)]) if any(isinstance(item, Items) for item in both) else UNKNOWN


def _inner(node: Any, evaluator: Evaluator) -> Values:
    return evaluator.of(node.value)


#: Type of a node → the rule for it. Other expressions stand for nothing that is known.
_RULES: dict[type, Callable[[Any, Evaluator], Values]] = {
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
    ast.Name: lambda node, evaluator: evaluator._name(node),
    ast.Attribute: lambda node, evaluator: evaluator._attribute(node),
    ast.Call: lambda node, evaluator: evaluator._call(node),
}

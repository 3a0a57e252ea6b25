"""Expressions of a file → what they can stand for.

An abstract interpretation: each expression has a set of values, and what the parameters of a
function can be is gathered from the calls in the file, until nothing new is found.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Callable

from tritonclient_shim.migrate import calls, hints
from tritonclient_shim.migrate.classes import Classes
from tritonclient_shim.migrate.expressions import RULES
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
    """What the expressions of one file can stand for."""

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
                for one in self._functions(decorator):
                    self._give(one, [frozenset({LocalFunction(function)})], {})
            if self._known == self._before and passed == self._passed:
                break

    def of(self, node: ast.AST) -> Values:
        """Expression → everything that it can stand for; empty where nothing is known."""
        if node in self._known:
            return self._known[node]
        rule = _RULES.get(type(node))
        if rule is None or node in self._active or len(self._active) > _DEPTH:
            return self._before.get(node, UNKNOWN)
        self._active.add(node)
        found = rule(node, self)
        self._active.discard(node)
        self._known[node] = found
        return found

    def is_provided(self, node: ast.AST) -> bool:
        """Whether a name comes from a star import alone."""
        place = self.scopes.places.get(node)
        name = node.id if isinstance(node, ast.Name) else ""
        return bool(place and name in self.imports.star and not place.scope.owner(name))

    def names(self, node: ast.Name | ast.Attribute) -> bool:
        """Whether an expression names what it stands for; a variable only holds it."""
        if isinstance(node, ast.Attribute):
            owners = self.of(node.value)
            known = any(isinstance(one, (Symbol, Instance)) for one in owners)
            return known or not self.of(node)
        place = self.scopes.places.get(node)
        owner = place.scope.owner(node.id) if place else None
        bindings = owner.bindings[node.id] if owner else ()
        imported = (one.definition.kind is Kind.IMPORTED for one in bindings)
        return owner is None or node.id in self.imports.star or any(imported)

    def is_any_error(self, node: ast.AST) -> bool:
        """Whether a name is what ``except Exception as name`` has caught."""
        place = self.scopes.places.get(node)
        owner = place.scope.owner(node.id) if place and isinstance(node, ast.Name) else None
        if place is None or owner is None or not isinstance(node, ast.Name):
            return False
        caught = [one.definition for one in reaching(owner.bindings[node.id], place)]
        return bool(caught) and all(
            one.kind is Kind.RAISED and _ANY_ERROR & self.of(one.node) for one in caught
        )

    # --- names and attributes

    def _name(self, node: ast.Name) -> Values:
        place = self.scopes.places.get(node)
        owner = place.scope.owner(node.id) if place else None
        if place is None or owner is None:
            return self._elsewhere(node.id)
        found = [self._bound(one) for one in reaching(owner.bindings[node.id], place)]
        if owner.frame is not place.scope.frame and not all(found):
            return UNKNOWN  # it may be something else by then
        values = union(found)
        if values == {LITERAL} and owner is self.scopes.module and node.id in self.imports.star:
            return self._elsewhere(node.id)  # bound where the import fails
        return values

    def _elsewhere(self, name: str) -> Values:
        """What a name stands for that the file does not bind."""
        known = self.imports.star.get(name)
        if known:
            return frozenset({Symbol(known)})
        return frozenset({Symbol(f"builtins.{name}")}) if hasattr(builtins, name) else UNKNOWN

    def _attribute(self, node: ast.Attribute) -> Values:
        found = union(self.member(one, node.attr) for one in self.of(node.value))
        return found or self._spelt(node) or self._of_anything(node)

    def member(self, owner: Value, name: str) -> Values:
        """What an attribute of a value can be."""
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
        """What is assigned to an attribute of the same name, as ``flags.context``."""
        text = spelt(node)
        place = self.scopes.places.get(node)
        if not text or place is None:
            return UNKNOWN
        head = text.partition(".")[0]
        same = [
            one
            for target, one in self.scopes.attributes.get(node.attr, ())
            if spelt(target) == text and one.place.scope.owner(head) is place.scope.owner(head)
        ]
        found = [self._bound(one) for one in reaching(same, place)]
        return union(found)

    def _of_anything(self, node: ast.Attribute) -> Values:
        """What the file assigns to attributes of the same name, where the owner is unknown."""
        if self.of(node.value):
            return UNKNOWN
        return union(self._bound(one) for _, one in self.scopes.attributes.get(node.attr, ()))

    def _bound(self, binding: Binding) -> Values:
        return self.definition(binding.definition)

    def definition(self, definition: Definition) -> Values:
        """What a binding gives to its name."""
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
            made = LocalClass(node) if isinstance(node, ast.ClassDef) else LocalFunction(node)  # type: ignore[arg-type]
            return frozenset({made})
        if definition.kind is Kind.PARAMETER:
            return self._parameter(node)
        if isinstance(node, ast.AnnAssign):
            assigned = UNKNOWN if node.value is None else self.of(node.value)
            return hints.values(node.annotation, self) | assigned
        values = self.of(node)
        if definition.kind is Kind.RAISED:
            kinds = element(values) | values
            return union(calls.made(one) for one in kinds)
        if definition.kind is Kind.ENTERED:
            return union(self._classes.entered(one) for one in values)
        return values

    def _parameter(self, node: ast.AST) -> Values:
        scope = self.scopes.places[node].scope
        found = self._passed.get(node, UNKNOWN)
        if isinstance(node, ast.arg) and node.annotation is not None:
            found |= hints.values(node.annotation, self)
        if node in self.scopes.defaults:
            found |= self.of(self.scopes.defaults[node])
        return found | self._classes.first_parameter(scope, node)

    # --- calls

    def _call(self, node: ast.Call) -> Values:
        found = union(calls.result(one, node, self) for one in self.of(node.func))
        return found or calls.same(node, self)

    def returned(self, function: LocalFunction) -> Values:
        """What a function of the file returns; a generator returns its values in a container."""
        scope = self.scopes.of_node[function.node]
        if scope.yielded:
            return items([union(self.of(one) for one in scope.yielded)])
        annotation = getattr(function.node, "returns", None)
        declared = hints.values(annotation, self) if annotation is not None else UNKNOWN
        return declared | union(self.of(one) for one in scope.returned)

    def attribute_of_object(self, node: ast.ClassDef, name: str) -> Values:
        """What an attribute of the objects of a class of the file can be."""
        return self._classes.attribute(LocalInstance(node), name)

    def _pass(self, call: ast.Call) -> None:
        """Note what a call gives to the parameters of functions of the file."""
        for target, given, named in calls.targets(call, self):
            for function in self._functions(target):
                self._give(function, given, named)

    def _give(
        self, function: LocalFunction, given: list[Values], named: dict[str, ast.expr]
    ) -> None:
        known = parameters(function.node)[int(function.bound) :]
        pairs = list(zip(known, given))
        by_name = (*known, *function.node.args.kwonlyargs)
        pairs += [(one, self.of(named[one.arg])) for one in by_name if one.arg in named]
        for parameter, values in pairs:
            self._passed[parameter] = self._passed.get(parameter, UNKNOWN) | values

    def _functions(self, target: ast.expr) -> list[LocalFunction]:
        found = []
        for one in self.of(target):
            if isinstance(one, LocalClass):
                made = self.attribute_of_object(one.node, "__init__")
                found += [init for init in made if isinstance(init, LocalFunction)]
            elif isinstance(one, LocalFunction):
                found.append(one)
        return found


#: Type of a node → the rule for it. Other expressions stand for nothing that is known.
_RULES: dict[type, Callable[[Any, Evaluator], Values]] = {
    **RULES,
    ast.Name: lambda node, evaluator: evaluator._name(node),
    ast.Attribute: lambda node, evaluator: evaluator._attribute(node),
    ast.Call: lambda node, evaluator: evaluator._call(node),
}

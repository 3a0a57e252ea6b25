"""The classes of a file: their attributes and base classes."""

from __future__ import annotations

import ast
from typing import Iterator, Union

from tritonclient_shim.migrate.interpreter import Interpreter
from tritonclient_shim.migrate.scopes import Binding, Scope, parameters
from tritonclient_shim.migrate.values import (
    UNKNOWN,
    Instance,
    Items,
    LocalClass,
    LocalFunction,
    LocalInstance,
    Symbol,
    Value,
    Values,
    union,
)
from tritonclient_shim.registry import BY_SYMBOL

_Local = Union[LocalClass, LocalInstance]
PROPERTIES = frozenset({"property", "cached_property"})


class Classes:
    """A lookup of attributes of a file's classes and of their objects."""

    def __init__(self, evaluator: Interpreter) -> None:
        self._evaluator = evaluator
        self._active: set[tuple[_Local, str]] = set()

    def attribute(self, owner: _Local, name: str) -> Values:
        """Return what an attribute can be: the class's own, else that of its base classes."""
        values = UNKNOWN
        if not (isinstance(owner, LocalInstance) and owner.parent):
            values = self._own(owner, name)
        if values or (owner, name) in self._active:  # the classes are derived from each other
            return values
        self._active.add((owner, name))
        values = union(self._inherited(owner, base, name) for base in owner.node.bases)
        self._active.discard((owner, name))
        return values

    def entered(self, value: Value) -> Values:
        """Return what ``with value as`` binds: a context itself, or what the generator yields."""
        if isinstance(value, Items):
            return value.any
        if isinstance(value, LocalInstance):
            methods = self.attribute(value, "__enter__")
            own = [item for item in methods if isinstance(item, LocalFunction)]
            return union(map(self._evaluator.returned, own)) or frozenset({value})
        return frozenset({value})

    def first_parameter(self, scope: Scope, node: ast.AST) -> Values:
        """Return what ``self`` or ``cls`` stands for in a method; nothing for other parameters."""
        function, owner = scope.node, scope.parent and scope.parent.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return UNKNOWN
        if not isinstance(owner, ast.ClassDef) or node not in parameters(function)[:1]:
            return UNKNOWN
        marks = decorators(function)
        if "staticmethod" in marks:
            return UNKNOWN
        is_class = "classmethod" in marks or function.name == "__new__"
        return frozenset({LocalClass(owner) if is_class else LocalInstance(owner)})

    def _own(self, owner: _Local, name: str) -> Values:
        scope = self._evaluator.scopes.of_node[owner.node]
        bindings = [*self._assigned(owner.node, name), *scope.bindings.get(name, ())]
        values = [self._evaluator.definition(binding.definition) for binding in bindings]
        if not all(values):
            return UNKNOWN  # it may be something else by then
        return union(self._bound(owner, item) for item in union(values))

    def _assigned(self, node: ast.ClassDef, name: str) -> Iterator[Binding]:
        """Yield the assignments to an attribute of the class and of its objects."""
        for target, binding in self._evaluator.scopes.attributes.get(name, ()):
            owners = self._evaluator.of(target.value)
            if any(getattr(owner, "node", None) is node for owner in owners):
                yield binding

    def _bound(self, owner: _Local, value: Value) -> Values:
        """Bind a method to its object, which is its first argument; read a property."""
        if not isinstance(value, LocalFunction) or isinstance(value.node, ast.Lambda):
            return frozenset({value})
        marks = decorators(value.node)
        if marks & PROPERTIES:
            return self._evaluator.returned(value)
        has_owner = isinstance(owner, LocalInstance) or "classmethod" in marks
        bound = has_owner and "staticmethod" not in marks
        return frozenset({LocalFunction(value.node, bound)})

    def _inherited(self, owner: _Local, base: ast.expr, name: str) -> Values:
        values = UNKNOWN
        for value in self._evaluator.of(base):
            if isinstance(value, LocalClass) and value.node is not owner.node:
                is_object = isinstance(owner, LocalInstance)
                parent = LocalInstance(value.node) if is_object else LocalClass(value.node)
                values |= self.attribute(parent, name)
            elif isinstance(value, Symbol):
                of_object = isinstance(owner, LocalInstance) and value.name in BY_SYMBOL
                inherited = Instance(value.name) if of_object else value
                if value.name in BY_SYMBOL:
                    values |= self._evaluator.member(inherited, name)
        return values


def decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Return the names of the decorators, without what they belong to."""
    names = (getattr(item, "attr", getattr(item, "id", "")) for item in node.decorator_list)
    return frozenset(names)

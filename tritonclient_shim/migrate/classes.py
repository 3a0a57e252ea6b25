"""The classes of a file: what their attributes are, and what they are derived from."""

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
    """Looks up attributes of the classes of a file and of their objects."""

    def __init__(self, evaluator: Interpreter) -> None:
        self._evaluator = evaluator
        self._active: set[tuple[_Local, str]] = set()

    def attribute(self, owner: _Local, name: str) -> Values:
        """What an attribute can be: of the class itself, else of the classes it is derived from."""
        found = UNKNOWN
        if not (isinstance(owner, LocalInstance) and owner.parent):
            found = self._own(owner, name)
        if found or (owner, name) in self._active:  # the classes are derived from each other
            return found
        self._active.add((owner, name))
        found = union(self._inherited(owner, base, name) for base in owner.node.bases)
        self._active.discard((owner, name))
        return found

    def entered(self, value: Value) -> Values:
        """What ``with value as`` binds: a context itself, or what the generator yields."""
        if isinstance(value, Items):
            return value.any
        if isinstance(value, LocalInstance):
            methods = self.attribute(value, "__enter__")
            own = [one for one in methods if isinstance(one, LocalFunction)]
            return union(map(self._evaluator.returned, own)) or frozenset({value})
        return frozenset({value})

    def first_parameter(self, scope: Scope, node: ast.AST) -> Values:
        """What ``self`` or ``cls`` stands for in a method; nothing for other parameters."""
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
        found = [self._evaluator.definition(one.definition) for one in bindings]
        if not all(found):
            return UNKNOWN  # it may be something else by then
        return union(self._bound(owner, one) for one in union(found))

    def _assigned(self, node: ast.ClassDef, name: str) -> Iterator[Binding]:
        """The assignments to an attribute of the class and of its objects."""
        for target, one in self._evaluator.scopes.attributes.get(name, ()):
            owners = self._evaluator.of(target.value)
            if any(getattr(owner, "node", None) is node for owner in owners):
                yield one

    def _bound(self, owner: _Local, value: Value) -> Values:
        """A method as an attribute of an object has got its first argument; a property is read."""
        if not isinstance(value, LocalFunction) or isinstance(value.node, ast.Lambda):
            return frozenset({value})
        marks = decorators(value.node)
        if marks & PROPERTIES:
            return self._evaluator.returned(value)
        has_owner = isinstance(owner, LocalInstance) or "classmethod" in marks
        bound = has_owner and "staticmethod" not in marks
        return frozenset({LocalFunction(value.node, bound)})

    def _inherited(self, owner: _Local, base: ast.expr, name: str) -> Values:
        found = UNKNOWN
        for one in self._evaluator.of(base):
            if isinstance(one, LocalClass) and one.node is not owner.node:
                made = isinstance(owner, LocalInstance)
                parent = LocalInstance(one.node) if made else LocalClass(one.node)
                found |= self.attribute(parent, name)
            elif isinstance(one, Symbol):
                of_object = isinstance(owner, LocalInstance) and one.name in BY_SYMBOL
                inherited = Instance(one.name) if of_object else one
                if one.name in BY_SYMBOL:
                    found |= self._evaluator.member(inherited, name)
        return found


def decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The names of the decorators, without what they belong to."""
    names = (getattr(one, "attr", getattr(one, "id", "")) for one in node.decorator_list)
    return frozenset(names)

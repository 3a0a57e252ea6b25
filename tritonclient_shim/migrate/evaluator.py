"""Expressions of a file → what they can stand for.

An abstract interpretation: each expression has a set of values, and what the parameters of a
function can be is collected from the calls in the file, until nothing changes.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from itertools import takewhile
from typing import Any, Callable, Dict, Iterator, List, Tuple, Union

from tritonclient_shim.migrate.imports import API, Imports, is_of_v1
from tritonclient_shim.migrate.scopes import (
    Binding,
    Function,
    Scopes,
    index,
    last_name,
    parameters,
    reaching,
)
from tritonclient_shim.migrate.sources import ParsedSource
from tritonclient_shim.migrate.values import (
    HANDLE,
    LITERAL,
    REQUEST,
    STATUS,
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
from tritonclient_shim.registry import BY_SYMBOL

PROPERTIES = frozenset({"property", "cached_property"})
#: Decorators of generators that a with statement enters.
_ENTERED = frozenset({"contextmanager", "asynccontextmanager"})
_ANY_ERROR = {Symbol("builtins.Exception"), Symbol("builtins.BaseException")}
_EXCEPTION = Symbol(f"{API}.InferenceServerException")
_PROTOCOL = f"{API}.ProtocolType"
_PARTIAL = Symbol("functools.partial")
_ROUNDS = 8
_DEPTH = 150  # of expressions that are looked up for one another
#: Functions that return a container, empty or with the elements of their argument.
_CONTAINERS = frozenset(
    ("list", "tuple", "set", "sorted", "reversed", "iter", "dict", "deque")
    + ("defaultdict", "OrderedDict", "Queue", "LifoQueue", "SimpleQueue")
)
#: Methods of containers that return a container of these elements, or an element.
_SAME_METHODS = frozenset({"values", "copy"})
_ONE_OF = frozenset({"get", "pop", "popleft", "setdefault", "get_nowait", "__getitem__"})
#: Functions that return their argument, as far as contexts go.
_HANDING_BACK = frozenset({"closing", "enter_context"})
_ASYNC_RUNS = ("async_run", "async_run_with_cb")
#: Methods of contexts → what is known of their results.
_RESULTS = {
    "get_server_status": Instance(STATUS),
    **dict.fromkeys((*_ASYNC_RUNS, "get_ready_async_request"), Instance(REQUEST)),
}
_Local = Union[LocalClass, LocalInstance]
_Target = Tuple[ast.expr, List[Values], Dict[str, ast.expr]]


def is_class(symbol: str) -> bool:
    """True if a dotted name is a class of v1 with an entry of its own."""
    return symbol in BY_SYMBOL and symbol.rpartition(".")[2][:1].isupper()


def new_instances(value: Value, call: ast.Call | None = None) -> Values:
    """Return the object that a call of a class creates; nothing for other values."""
    if isinstance(value, LocalClass):
        return frozenset({LocalInstance(value.node)})
    if isinstance(value, Symbol) and is_class(value.name):
        return frozenset({Instance(value.name, call)})
    return UNKNOWN


class Evaluator:
    """An evaluator of the expressions of a file."""

    def __init__(self, source: ParsedSource) -> None:
        self.imports = imports = Imports(source.tree, source.path)
        self.scopes = Scopes(source.tree)
        self._passed: dict[ast.AST, Values] = {}  # parameter → what it is called with
        self._known: dict[ast.AST | None, Values] = {}
        self._before: dict[ast.AST | None, Values] = {}  # of the round before, for circles
        self._active: set[object] = set()  # expressions and attributes that are looked up
        for _ in range(_ROUNDS if imports.uses_v1 else 0):
            self._before, self._known = self._known, {}
            passed = dict(self._passed)
            for call in self.scopes.calls:
                for target, positional, named in self._targets(call):
                    self._pass(target, positional, named)
            if self._known == self._before and passed == self._passed:
                break

    def of(self, node: ast.AST | None) -> Values:
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

    def is_provided(self, node: ast.Name) -> bool:
        """True if a name comes from a star import alone."""
        return node.id in self.imports.star and not self.scopes.bindings(node)

    def names(self, node: ast.Name | ast.Attribute) -> bool:
        """True if an expression names what it stands for; a variable only holds it."""
        if isinstance(node, ast.Attribute):
            owners = self.of(node.value)
            known = any(isinstance(item, (Symbol, Instance)) for item in owners)
            return known or not self.of(node)
        bindings = self.scopes.bindings(node)
        imported = (isinstance(binding.node, ast.alias) for binding in bindings)
        return not bindings or node.id in self.imports.star or any(imported)

    # --- names and attributes

    def name(self, node: ast.Name) -> Values:
        """Return what a variable can be."""
        place = self.scopes.places[node]
        owner = place.scope.owner(node.id)
        if owner is None:
            return self._elsewhere(node.id)
        bindings = reaching(owner.bindings[node.id], place)
        candidates = [self._value(binding) for binding in bindings]
        if owner is not place.scope and not all(candidates):
            return UNKNOWN  # it may be something else by then
        values = union(candidates)
        if values == {LITERAL} and owner is self.scopes.module and node.id in self.imports.star:
            return self._elsewhere(node.id)  # bound where the import fails
        return values

    def _elsewhere(self, name: str) -> Values:
        """Return what a name stands for that the file does not bind."""
        builtin = f"builtins.{name}" if hasattr(builtins, name) else ""
        return _named(self.imports.star.get(name, builtin))

    def attribute(self, node: ast.Attribute) -> Values:
        """Return what an attribute can be: of an unknown owner, any attribute of its name."""
        owners = self.of(node.value)
        if owners:
            return union(self.member(item, node.attr) for item in owners)
        assigned = self.scopes.attributes.get(node.attr, ())
        return union(self._value(binding) for _, binding in assigned)

    def member(self, owner: Value, name: str) -> Values:
        """Return what an attribute of a value can be."""
        if isinstance(owner, Symbol):
            return frozenset({Symbol(f"{owner.name}.{name}")})
        if isinstance(owner, Instance) and name[:1].isupper():  # a class in it: ResultFormat
            return frozenset({Symbol(f"{owner.of}.{name}")})
        if isinstance(owner, (Instance, Items)):
            return frozenset({BoundMethod(owner, name)})
        if isinstance(owner, (LocalClass, LocalInstance)):
            return self._of_class(owner, name)
        return UNKNOWN

    def _value(self, binding: Binding) -> Values:
        """Return what a binding gives to its name."""
        values = self.of(binding.node)
        for step in binding.steps:
            values = element(values, step)
        for _ in range(binding.wraps):
            values = items([values])
        return values

    def imported(self, node: ast.alias) -> Values:
        """Return what an import binds to its name."""
        binds_package = "." in node.name and not node.asname
        package = node.name.partition(".")[0]
        return _named(package if binds_package else self.imports.symbols[node])

    def parameter(self, node: ast.arg) -> Values:
        """Return what a parameter can be."""
        values = self._passed.get(node, UNKNOWN)
        function: Any = self.scopes.places[node].scope.node
        owner, marks = self.scopes.places[function].scope.node, decorators(function)
        is_first = node in parameters(function.args)[:1] and "staticmethod" not in marks
        if isinstance(owner, ast.ClassDef) and is_first:
            is_class = "classmethod" in marks or getattr(function, "name", "") == "__new__"
            values |= {LocalClass(owner) if is_class else LocalInstance(owner)}
        return values | self.annotated(node.annotation, self.scopes.defaults.get(node))

    def annotated(self, annotation: ast.expr | None, value: ast.expr | None) -> Values:
        """Return what a name with an annotation and a value can be."""
        return self.of(value) | union(map(new_instances, self.of(annotation)))

    def raised(self, node: ast.ExceptHandler) -> Values:
        """Return what a handler catches."""
        classes = self.of(node.type)
        any_error = _ANY_ERROR if self.imports.legacy else ()
        known = (_EXCEPTION if x in any_error else x for x in classes | element(classes))
        return union(map(new_instances, known))

    # --- classes of the file

    def _of_class(self, owner: _Local, name: str) -> Values:
        """Return what an attribute can be: the class's own, else that of its base classes."""
        values = UNKNOWN
        if not (isinstance(owner, LocalInstance) and owner.parent):
            values = self._own(owner, name)
        if values or (owner, name) in self._active:  # the classes are derived from each other
            return values
        self._active.add((owner, name))
        bases = union(map(self.of, owner.node.bases))
        values = union(self._inherited(owner, base, name) for base in bases)
        self._active.discard((owner, name))
        return values

    def _own(self, owner: _Local, name: str) -> Values:
        bindings = list(self.scopes.of_node[owner.node].bindings.get(name, ()))
        for target, binding in self.scopes.attributes.get(name, ()):
            owners = self.of(target.value)
            if any(getattr(item, "node", None) is owner.node for item in owners):
                bindings.append(binding)
        values = [self._value(binding) for binding in bindings]
        if not all(values):
            return UNKNOWN  # it may be something else by then
        return union(self._bound(owner, item) for item in union(values))

    def _bound(self, owner: _Local, value: Value) -> Values:
        """Bind a method to its object, which is its first argument; read a property."""
        if not isinstance(value, LocalFunction):
            return frozenset({value})
        marks = decorators(value.node)
        if marks & PROPERTIES:
            return self.returned(value)
        has_owner = isinstance(owner, LocalInstance) or "classmethod" in marks
        return frozenset({LocalFunction(value.node, has_owner and "staticmethod" not in marks)})

    def _inherited(self, owner: _Local, base: Value, name: str) -> Values:
        is_object = isinstance(owner, LocalInstance)
        if isinstance(base, LocalClass) and base.node is not owner.node:
            return self._of_class(LocalInstance(base.node) if is_object else base, name)
        if isinstance(base, Symbol) and base.name in BY_SYMBOL:
            return self.member(Instance(base.name) if is_object else base, name)
        return UNKNOWN

    # --- calls

    def call(self, node: ast.Call) -> Values:
        """Return what a call can return."""
        values = union(self._result(function, node) for function in self.of(node.func))
        is_same = not values and node.args and last_name(node.func) in _HANDING_BACK
        return self.of(node.args[0]) if is_same else values

    def _result(self, function: Value, call: ast.Call) -> Values:
        if isinstance(function, LocalFunction):
            return self.returned(function)
        if isinstance(function, BoundMethod):
            return self._of_method(function, call)
        if isinstance(function, Symbol):
            return self._of_symbol(function.name, call)
        return new_instances(function, call)

    def returned(self, function: LocalFunction) -> Values:
        """Return what a function of the file returns: for a generator, a container of values."""
        scope, marks = self.scopes.of_node[function.node], decorators(function.node)
        if scope.yielded and not marks & _ENTERED:
            return items([union(map(self.of, scope.yielded))])
        return union(map(self.of, [*scope.returned, *scope.yielded]))

    def _of_method(self, method: BoundMethod, call: ast.Call) -> Values:
        owner, name = method.owner, method.name
        if isinstance(owner, Instance):
            known = _RESULTS.get(name)
            return frozenset({replace(known, creation=call)}) if known else UNKNOWN
        if name in _SAME_METHODS:
            return frozenset({owner})
        if name == "items":
            return items([items([UNKNOWN, owner.any], (0, 1))])
        return owner.any if name in _ONE_OF else UNKNOWN

    def _of_symbol(self, name: str, call: ast.Call) -> Values:
        last = name.rpartition(".")[2]
        first = self.of(call.args[0]) if call.args else UNKNOWN
        if is_of_v1(name) and last == "create_shared_memory_region":
            return frozenset({Instance(HANDLE, call)})
        if name == f"{_PROTOCOL}.from_str":
            return frozenset({Instance(_PROTOCOL, call)})
        if name == _PARTIAL.name:
            return frozenset({Instance(name, call)})
        if name == "builtins.super":
            owner = self.scopes.enclosing_class(call)
            return frozenset({LocalInstance(owner, parent=True)}) if owner else UNKNOWN
        if last in _CONTAINERS:
            return frozenset(item for item in first if isinstance(item, Items)) or items([])
        if last == "enumerate":
            return items([items([UNKNOWN, element(first)], (0, 1))])
        if last == "zip":
            parts = [element(self.of(argument)) for argument in call.args]
            return items([items(parts, range(len(parts)))])
        return new_instances(Symbol(name), call)

    def _targets(self, call: ast.Call) -> Iterator[_Target]:
        """Yield the functions that a call calls or passes on, each with its arguments."""
        named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        functions = self.of(call.func)
        yield call.func, self._positional(call.args), named
        if call.args and (_PARTIAL in functions or last_name(call.func) == "submit"):
            yield call.args[0], self._positional(call.args[1:]), named
        if "target" in named:  # of a thread or process
            arguments = getattr(named.get("args"), "elts", [])
            yield named["target"], self._positional(arguments), {}
        contexts = frozenset(
            function.owner
            for function in functions
            if isinstance(function, BoundMethod)
            and isinstance(function.owner, Instance)
            and function.name in _ASYNC_RUNS
        )
        given = [contexts, frozenset({Instance(REQUEST, call)})]
        for node in [*call.args[:1], *filter(None, [named.get("callback")])] if contexts else []:
            made = (value.creation for value in self.of(node) if isinstance(value, Instance))
            parts = next((partial.args for partial in made if partial and partial.args), [node])
            yield parts[0], [*self._positional(parts[1:]), *given], {}

    def _positional(self, arguments: list[ast.expr]) -> list[Values]:
        known = takewhile(lambda node: not isinstance(node, ast.Starred), arguments)
        return [self.of(node) for node in known]

    def _pass(self, target: ast.expr, positional: list[Values], named: dict[str, ast.expr]) -> None:
        """Note what a call gives to the parameters of functions of the file."""
        for function in self._functions(target):
            known = parameters(function.node.args)[int(function.bound) :]
            pairs = list(zip(known, positional))
            by_name = (*known, *function.node.args.kwonlyargs)
            pairs += [(item, self.of(named[item.arg])) for item in by_name if item.arg in named]
            for parameter, values in pairs:
                self._passed[parameter] = self._passed.get(parameter, UNKNOWN) | values

    def _functions(self, target: ast.expr) -> Iterator[LocalFunction]:
        """Yield the functions that an expression can be, and the constructors of classes."""
        for value in self.of(target):
            functions = frozenset({value})
            if isinstance(value, LocalClass):
                functions = self.member(LocalInstance(value.node), "__init__")
            yield from (item for item in functions if isinstance(item, LocalFunction))


def decorators(node: Function) -> frozenset[str]:
    """Return the names of the decorators, without what they belong to."""
    return frozenset(map(last_name, getattr(node, "decorator_list", ())))


# ------------------------------------------- nodes other than names, attributes and calls


def _named(symbol: str) -> Values:
    return frozenset({Symbol(symbol)}) if symbol else UNKNOWN


def _function(node: Function, evaluator: Evaluator) -> Values:
    return frozenset({LocalFunction(node)})


def _sequence(node: ast.Tuple | ast.List | ast.Set, evaluator: Evaluator) -> Values:
    return items(map(evaluator.of, node.elts), range(len(node.elts)))


def _dict(node: ast.Dict, evaluator: Evaluator) -> Values:
    keys = [item.value for item in node.keys if isinstance(item, ast.Constant)]
    return items(map(evaluator.of, node.values), keys)


def _subscript(node: ast.Subscript, evaluator: Evaluator) -> Values:
    key = index(node)
    values = evaluator.of(node.value)
    if isinstance(key, ast.Slice):
        return items([element(values)])
    return element(values, key.value if isinstance(key, ast.Constant) else None)


def _comprehension(node: Any, evaluator: Evaluator) -> Values:
    return items([evaluator.of(getattr(node, "elt", None) or node.value)])


#: Type of a node → the rule for it. Other expressions stand for nothing that is known.
_RULES: dict[type, Callable[[Any, Evaluator], Values]] = {
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set), _sequence),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), _comprehension),
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.BoolOp: lambda node, evaluator: union(map(evaluator.of, node.values)),
    ast.IfExp: lambda node, evaluator: evaluator.of(node.body) | evaluator.of(node.orelse),
    ast.Constant: lambda node, evaluator: frozenset({LITERAL}),
    **dict.fromkeys((ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef), _function),
    ast.ClassDef: lambda node, evaluator: frozenset({LocalClass(node)}),
    ast.AnnAssign: lambda node, evaluator: evaluator.annotated(node.annotation, node.value),
    ast.arg: lambda node, evaluator: evaluator.parameter(node),
    ast.alias: lambda node, evaluator: evaluator.imported(node),
    ast.ExceptHandler: lambda node, evaluator: evaluator.raised(node),
    ast.Name: lambda node, evaluator: evaluator.name(node),
    ast.Attribute: lambda node, evaluator: evaluator.attribute(node),
    ast.Call: lambda node, evaluator: evaluator.call(node),
}

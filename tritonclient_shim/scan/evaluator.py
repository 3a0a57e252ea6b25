"""Expressions of a file → what they can stand for.

An abstract interpretation: each expression has a set of values, and what the parameters of a
function can be is collected from the calls in the file, until nothing changes.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from itertools import takewhile
from typing import Any, Collection, Mapping

from tritonclient_shim.registry import BY_SYMBOL
from tritonclient_shim.scan.imports import API, Imports, called_module, is_of_v1
from tritonclient_shim.scan.scopes import (
    Binding,
    Scopes,
    index,
    last_name,
    parameters,
    reaching,
)
from tritonclient_shim.scan.sources import ParsedSource
from tritonclient_shim.scan.values import (
    HANDLE,
    LITERAL,
    REQUEST,
    STATUS,
    STATUSES,
    UNKNOWN,
    BoundMethod,
    Instance,
    Items,
    LocalClass,
    LocalFunction,
    OwnObject,
    Symbol,
    Value,
    Values,
    either,
    element,
    items,
    union,
)

PROPERTIES = frozenset({"property", "cached_property"})
#: Decorators of generators that a with statement enters.
_ENTERED = frozenset({"contextmanager", "asynccontextmanager"})
_ANY_ERROR = {Symbol("builtins.Exception"), Symbol("builtins.BaseException")}
_EXCEPTION = Symbol(f"{API}.InferenceServerException")
_PARTIAL = Symbol("functools.partial")
_IMPORTING = frozenset({"importlib.import_module", "builtins.__import__"})
_ROUNDS = 8
_DEPTH = 150  # of expressions that are looked up for one another
#: Functions that return a container, empty or with the elements of their argument.
_CONTAINERS = frozenset(
    ("list", "tuple", "set", "sorted", "reversed", "iter", "dict", "deque")
    + ("defaultdict", "OrderedDict", "Queue", "LifoQueue", "SimpleQueue")
)
_MAPPINGS = ("dict", "OrderedDict")
#: Expressions with pairs for a mapping.
_SEQUENCES = (ast.GeneratorExp, ast.ListComp, ast.List, ast.Tuple, ast.Set)
#: Methods of containers that return a container of these elements, or an element.
_SAME_METHODS = frozenset({"values", "copy"})
_ONE_OF = frozenset({"get", "pop", "popleft", "setdefault", "get_nowait", "__getitem__"})
#: Functions that return their argument, as far as contexts go.
_HANDING_BACK = frozenset({"closing", "enter_context"})
#: Methods that are called by the name of the class or object.
_CALLED_BY_OWNER = ("__init__", "__call__")
_ASYNC_RUNS = ("async_run", "async_run_with_cb")
#: Functions and methods of v1 → the class of their results.
_RESULTS = {
    "create_shared_memory_region": HANDLE,
    "from_str": f"{API}.ProtocolType",
    "get_server_status": STATUS,
    **dict.fromkeys(_ASYNC_RUNS, REQUEST),
}


def is_class(symbol: str) -> bool:
    """True if a dotted name is a class of v1 with an entry of its own."""
    return symbol in BY_SYMBOL and symbol.rpartition(".")[2][:1].isupper()


def new_instances(values: Values, call: ast.Call | None = None) -> Values:
    """Return the objects that a call of the classes among some values creates."""
    classes = (x.node for x in values if isinstance(x, LocalClass) and not x.is_object)
    local: Values = frozenset(LocalClass(node, is_object=True) for node in classes)
    symbols = (x.name for x in values if isinstance(x, Symbol) and is_class(x.name))
    return local.union(Instance(name, call) for name in symbols)


class Evaluator:
    """An evaluator of the expressions of a file.

    ``taken``: names of functions and classes that other files may call. ``classes``: the methods of
    classes of other files in which v1 has no part, by the names of the classes.
    """

    def __init__(
        self,
        source: ParsedSource,
        taken: Collection[str] = (),
        classes: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._taken = taken
        self._classes = classes or {}
        self.imports = imports = Imports(source.tree, source.path)
        self.scopes = Scopes(source.tree)
        #: to parameters, by the call
        self._passed: defaultdict[ast.AST, dict[ast.Call, Values]] = defaultdict(dict)
        self._known: dict[ast.AST | None, Values] = {}
        self._before: dict[ast.AST | None, Values] = {}  # of the round before, for circles
        self._active: set[object] = set()  # expressions and attributes that are looked up
        for _ in range(_ROUNDS if imports.uses_v1 else 0):
            self._before, self._known = self._known, {}
            for call in self.scopes.calls:
                self._follow(call)
            if self._known == self._before:
                break

    def of(self, node: ast.AST | None) -> Values:
        """Return the possible values of an expression; nothing if they are unknown."""
        if node in self._known:
            return self._known[node]
        if node in self._active or len(self._active) > _DEPTH:
            return self._before.get(node, UNKNOWN)
        self._active.add(node)
        values = self._known[node] = self._evaluated(node)
        self._active.discard(node)
        return values

    def is_of_v1(self, node: ast.expr) -> bool:
        """True if an expression may be a module, class, function or constant of v1."""
        return any(is_of_v1(str(getattr(value, "name", ""))) for value in self.of(node))

    def is_own_method(self, node: ast.Attribute) -> bool:
        """True if an attribute is a method of the program's own classes, and of nothing else."""
        owners = self.of(node.value)
        is_assigned = node.attr in self.scopes.attributes
        return (
            bool(owners)
            and not is_assigned
            and all(
                isinstance(owner, OwnObject) and node.attr in self._classes[owner.of]
                for owner in owners
            )
        )

    def is_provided(self, node: ast.Name) -> bool:
        """True if a name comes from a star import alone."""
        bindings = reaching(self.scopes.bindings(node), self.scopes.places[node])
        return node.id in self.imports.star and not bindings

    def names(self, node: ast.Name | ast.Attribute) -> bool:
        """True if an expression names what it stands for; a variable only holds it."""
        if isinstance(node, ast.Attribute):
            owners = self.of(node.value)
            known = any(isinstance(item, (Symbol, Instance)) for item in owners)
            return known or not self.of(node)
        bindings = self.scopes.bindings(node)
        imported = (isinstance(binding.node, ast.alias) for binding in bindings)
        return not bindings or node.id in self.imports.star or any(imported)

    def _evaluated(self, node: ast.AST | None) -> Values:
        """Return the possible values of an expression, or of a node that binds a name."""
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Constant):
            return frozenset({LITERAL})
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return items(map(self.of, node.elts), range(len(node.elts)))
        if isinstance(node, ast.Dict):
            keys = [item.value for item in node.keys if isinstance(item, ast.Constant)]
            return items(map(self.of, node.values), keys)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return items([self.of(node.value if isinstance(node, ast.DictComp) else node.elt)])
        if isinstance(node, ast.BoolOp):
            return either(map(self.of, node.values))
        if isinstance(node, ast.IfExp):
            return either([self.of(node.body), self.of(node.orelse)])
        if isinstance(node, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)):
            return frozenset({LocalFunction(node)})
        if isinstance(node, ast.ClassDef):
            return frozenset({LocalClass(node)})
        if isinstance(node, ast.AnnAssign):
            return self._annotated(self.of(node.value), node)
        if isinstance(node, ast.arg):
            return self._parameter(node)
        if isinstance(node, ast.alias):
            return self._imported(node)
        return self._raised(node) if isinstance(node, ast.ExceptHandler) else UNKNOWN

    def _name(self, node: ast.Name) -> Values:
        place = self.scopes.places[node]
        star = self.imports.star
        owner = place.scope.owner(node.id)
        bindings = reaching(owner.bindings[node.id], place) if owner else []
        is_before = node.id in star and not bindings  # what binds it anew comes later
        if owner and not is_before:
            candidates = [self._value(binding) for binding in bindings]
            if owner is not place.scope and not all(candidates):
                return UNKNOWN  # it may be something else by then
            values = either(candidates)
            if values != {LITERAL} or owner is not self.scopes.module or node.id not in star:
                return values  # else the literal stands in where the star import fails
        if node.id in star:
            return frozenset({Symbol(star[node.id])})
        if node.id in self.imports.numpy:
            return frozenset({Symbol("numpy")})
        if node.id in self._classes:  # of a star import
            return frozenset({Symbol(node.id)})
        is_builtin = hasattr(builtins, node.id)
        return frozenset({Symbol(f"builtins.{node.id}")}) if is_builtin else UNKNOWN

    def _attribute(self, node: ast.Attribute) -> Values:
        """Return what an attribute can be: of an unknown owner, any attribute of its name."""
        owners = self._owner(node)
        if owners:
            return either(self.member(item, node.attr) for item in owners if item is not LITERAL)
        assigned = self.scopes.attributes.get(node.attr, ())
        return either(self._value(binding) for _, binding in assigned)

    def _owner(self, node: ast.Attribute | ast.Subscript) -> Values:
        """Return what an attribute or element is taken from: of a status, a container of more."""
        is_status = last_name(node.value) in STATUSES
        return items([frozenset({Instance(STATUS)})]) if is_status else self.of(node.value)

    def member(self, owner: Value, name: str) -> Values:
        """Return what an attribute of a value can be."""
        if isinstance(owner, LocalClass):
            return self._of_class(owner, name)
        if isinstance(owner, Symbol):
            return frozenset({Symbol(f"{owner.name}.{name}")})
        if isinstance(owner, Instance) and name[:1].isupper():  # a class in it: ResultFormat
            return frozenset({Symbol(f"{owner.of}.{name}")})
        if isinstance(owner, (Instance, Items)):
            return frozenset({BoundMethod(owner, name)})
        return UNKNOWN

    def _subscript(self, node: ast.Subscript) -> Values:
        key = index(node)
        values = self._owner(node)
        if isinstance(key, ast.Slice):
            return items([element(values)])
        return element(values, key.value if isinstance(key, ast.Constant) else None)

    def _value(self, binding: Binding) -> Values:
        """Return what a binding gives to its name."""
        values = self.of(binding.node)
        for step in binding.steps:
            values = element(values, step)
        for _ in range(binding.wraps):
            values = items([values])
        return values

    def _imported(self, node: ast.alias) -> Values:
        binds_package = "." in node.name and not node.asname
        symbol = node.name.partition(".")[0] if binds_package else self.imports.symbols[node]
        if not symbol and node.name in self._classes:  # of the file's own package
            symbol = node.name
        return frozenset({Symbol(symbol)}) if symbol else UNKNOWN

    def _parameter(self, node: ast.arg) -> Values:
        function: Any = self.scopes.places[node].scope.node
        arguments = function.args
        known = [*parameters(arguments), *arguments.kwonlyargs]
        defaults = [*arguments.defaults, *arguments.kw_defaults]
        default = dict(zip(reversed(known), reversed(defaults))).get(node)
        candidates = [*self._passed.get(node, {}).values()]
        candidates += [self.of(default)] if default else []
        owner = self.scopes.places[function].scope.node
        marks = decorators(function)
        called = owner if getattr(function, "name", "") in _CALLED_BY_OWNER else function
        candidates += [UNKNOWN] if getattr(called, "name", "") in self._taken else []
        values = either(candidates)
        is_first = node in parameters(arguments)[:1] and "staticmethod" not in marks
        if isinstance(owner, ast.ClassDef) and is_first:
            values |= {LocalClass(owner, is_object="classmethod" not in marks)}
        return self._annotated(values, node)

    def _annotated(self, values: Values, node: ast.arg | ast.AnnAssign) -> Values:
        """Return values with an object of the annotated class, unless they have a known one."""
        known = {x.of for x in values if isinstance(x, Instance) and x.creation}
        objects = self._instances(self.of(node.annotation))
        is_known = all(isinstance(item, Instance) and item.of in known for item in objects)
        return values if is_known else values | objects

    def _instances(self, values: Values, call: ast.Call | None = None) -> Values:
        """Return the objects that a call of the classes among some values creates."""
        names = (x.name.rpartition(".")[2] for x in values if isinstance(x, Symbol))
        own: Values = frozenset(OwnObject(name) for name in names if name in self._classes)
        return new_instances(values, call) or own

    def _raised(self, node: ast.ExceptHandler) -> Values:
        classes = self.of(node.type)
        known = (_EXCEPTION if x in _ANY_ERROR else x for x in classes | element(classes))
        return new_instances(frozenset(known))

    def _of_class(self, owner: LocalClass, name: str) -> Values:
        """Return what an attribute can be: the class's own, else that of its base classes."""
        bindings = list(self.scopes.of_node[owner.node].bindings.get(name, ()))
        owners = {LocalClass(owner.node), LocalClass(owner.node, is_object=True)}
        for target, binding in self.scopes.attributes.get(name, ()):
            if self.of(target.value) & owners:
                bindings.append(binding)
        own = [self._value(binding) for binding in bindings]
        if own and all(own):  # else it may be something else by then
            return either(
                [
                    *(self._bound(owner, item) for item in union(own)),
                    *(self.member(other, name) for other in self._overriding(owner, name)),
                ]
            )
        if (owner, name) in self._active:  # the classes are derived from each other
            return UNKNOWN
        self._active.add((owner, name))
        bases = union(map(self.of, owner.node.bases))
        if owner.is_object:
            bases = new_instances(bases)
        values = either(self.member(base, name) for base in bases)
        self._active.discard((owner, name))
        return values

    def _overriding(self, owner: LocalClass, name: str) -> list[LocalClass]:
        """Return the classes of the file that derive from a class and bind a name anew."""
        return [
            LocalClass(node, owner.is_object)
            for node, scope in self.scopes.of_node.items()
            if isinstance(node, ast.ClassDef) and name in scope.bindings
            if any(LocalClass(owner.node) in self.of(base) for base in node.bases)
        ]

    def _bound(self, owner: LocalClass, value: Value) -> Values:
        """Bind a method to its object, which is its first argument; read a property."""
        if not isinstance(value, LocalFunction):
            return frozenset({value})
        marks = decorators(value.node)
        if marks & PROPERTIES:
            return self.returned(value)
        has_owner = owner.is_object or "classmethod" in marks
        is_bound = has_owner and "staticmethod" not in marks
        return frozenset({LocalFunction(value.node, value.bound or int(is_bound))})

    def constructors(self, functions: Values) -> Values:
        """Return the constructors of the classes among some values."""
        return union(self.member(item, "__init__") for item in new_instances(functions))

    def _call(self, node: ast.Call) -> Values:
        functions = self.of(node.func) - {LITERAL}  # a literal such as None cannot be called
        values = either(self._result(function, node) for function in functions)
        is_same = not values and node.args and last_name(node.func) in _HANDING_BACK
        return self.of(node.args[0]) if is_same else values

    def _result(self, function: Value, call: ast.Call) -> Values:
        """Return what a call can return if it calls this function, class or method."""
        if isinstance(function, LocalFunction):
            return self.returned(function)
        if isinstance(function, Symbol):
            return self._of_symbol(function.name, call)
        if not isinstance(function, BoundMethod):
            return new_instances(frozenset({function}))
        owner = function.owner
        name = function.name
        if isinstance(owner, Instance):
            return frozenset({Instance(_RESULTS[name], call)}) if name in _RESULTS else UNKNOWN
        if name in _SAME_METHODS:
            return frozenset({owner})
        if name == "items":
            return items([items([UNKNOWN, owner.any], (0, 1))])
        return element(frozenset({owner})) if name in _ONE_OF else UNKNOWN

    def returned(self, function: LocalFunction) -> Values:
        """Return what a function of the file returns: for a generator, a container of values."""
        scope = self.scopes.of_node[function.node]
        results = either(map(self.of, scope.results))
        is_entered = decorators(function.node) & _ENTERED
        return items([results]) if scope.is_generator and not is_entered else results

    def _of_symbol(self, name: str, call: ast.Call) -> Values:
        last = name.rpartition(".")[2]
        first = self.of(call.args[0]) if call.args else UNKNOWN
        if is_of_v1(name) and last in _RESULTS:
            return frozenset({Instance(_RESULTS[last], call)})
        if name in _IMPORTING:
            return self._imported_module(name, call)
        if name == _PARTIAL.name:
            given = len(call.args) - 1
            functions = (value for value in first if isinstance(value, LocalFunction))
            return frozenset(LocalFunction(item.node, item.bound + given) for item in functions)
        if name == "builtins.super":
            scope = self.scopes.places[call].scope
            while scope.parent and not isinstance(scope.node, ast.ClassDef):
                scope = scope.parent
            bases = getattr(scope.node, "bases", ())
            return new_instances(union(map(self.of, bases)))
        if last in _MAPPINGS and (call.keywords or isinstance(_first_argument(call), _SEQUENCES)):
            pairs = element(element(first), 1)
            values = [*([pairs] if call.args else []), *(self.of(x.value) for x in call.keywords)]
            return items(values)
        if last in _CONTAINERS:
            return frozenset(item for item in first if isinstance(item, Items)) or items([])
        if last == "enumerate":
            return items([items([UNKNOWN, element(first)], (0, 1))])
        if last == "zip":
            parts = [element(self.of(argument)) for argument in call.args]
            return items([items(parts, range(len(parts)))])
        return self._instances(frozenset({Symbol(name)}), call)

    def _imported_module(self, function: str, call: ast.Call) -> Values:
        """Return the module that a call imports. `__import__` returns the package around it."""
        module = called_module(call)
        is_outer = function == "builtins.__import__" and not (call.keywords or call.args[3:])
        name = module.partition(".")[0] if is_outer else module
        return frozenset({Symbol(name)}) if name else UNKNOWN

    def _follow(self, call: ast.Call) -> None:
        """Note what a call gives to functions of the file that it calls or passes on."""
        known = takewhile(lambda node: not isinstance(node, ast.Starred), call.args)
        positional = [self.of(node) for node in known]
        named = {keyword.arg: self.of(keyword.value) for keyword in call.keywords if keyword.arg}
        functions = self.of(call.func)
        self._pass(call, functions, positional, named)
        if positional and (_PARTIAL in functions or last_name(call.func) == "submit"):
            self._pass(call, positional[0], positional[1:], named)
        for arguments in named.get("args", ()):  # of the target of a thread or process
            if isinstance(arguments, Items):
                elements = [values for _, values in arguments.keyed]
                self._pass(call, named.get("target", UNKNOWN), elements, {})
        methods = (item for item in functions if isinstance(item, BoundMethod))
        contexts: Values = frozenset(x.owner for x in methods if x.name in _ASYNC_RUNS)
        if contexts:
            callbacks = union([*positional[:1], named.get("callback", UNKNOWN)])
            self._pass(call, callbacks, [contexts, frozenset({Instance(REQUEST, call)})], {})

    def _pass(
        self, call: ast.Call, functions: Values, positional: list[Values], named: dict[str, Values]
    ) -> None:
        """Note what the parameters of functions, and of constructors of classes, are given."""
        for function in functions | self.constructors(functions):
            if isinstance(function, LocalFunction):
                known = parameters(function.node.args)[function.bound :]
                values_of = dict(zip(known, positional))
                for parameter in (*known, *function.node.args.kwonlyargs):
                    if parameter.arg in named:
                        values_of[parameter] = named[parameter.arg]
                for parameter, values in values_of.items():
                    self._passed[parameter][call] = values


def _first_argument(call: ast.Call) -> ast.expr | None:
    """Return the first argument of a call that is given by position."""
    return call.args[0] if call.args else None


def decorators(node: ast.AST) -> frozenset[str]:
    """Return the names of the decorators, without what they belong to."""
    return frozenset(map(last_name, getattr(node, "decorator_list", ())))

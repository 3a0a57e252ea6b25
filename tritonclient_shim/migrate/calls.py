"""A call → its results, and the functions of the file that get its arguments."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Dict, Iterator, List, Tuple

from tritonclient_shim.migrate.imports import API, imported
from tritonclient_shim.migrate.interpreter import Interpreter
from tritonclient_shim.migrate.scopes import spelt
from tritonclient_shim.migrate.values import (
    CALLABLE,
    HANDLE,
    REQUEST,
    STATUS,
    UNKNOWN,
    BoundMethod,
    Instance,
    Items,
    LocalClass,
    LocalFunction,
    LocalInstance,
    Partial,
    Symbol,
    Value,
    Values,
    element,
    items,
    union,
)
from tritonclient_shim.registry import BY_SYMBOL

Target = Tuple[ast.expr, List[Values], Dict[str, ast.expr]]
#: Functions that return a container, empty or with the elements of their argument.
_CONTAINERS = frozenset(
    ("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "dict", "deque")
    + ("defaultdict", "OrderedDict", "Queue", "LifoQueue", "SimpleQueue", "WeakValueDictionary")
)
#: Methods of containers that return a container of these elements, or an element.
_SAME_METHODS = frozenset({"values", "copy"})
_ONE_OF = frozenset({"get", "pop", "popleft", "setdefault", "get_nowait", "__getitem__"})
_HANDING_BACK = frozenset({"closing", "enter_context", "copy", "deepcopy"})
_HANDING = frozenset({"submit", "apply", "apply_async", "map", "imap", "start_new_thread"})
#: Methods of contexts → what is known of their results.
_RESULTS = {
    "get_server_status": Instance(STATUS),
    **dict.fromkeys(
        ("async_run", "async_run_with_cb", "get_ready_async_request"), Instance(REQUEST)
    ),
}
_PROTOCOL = f"{API}.ProtocolType"
_LATER = frozenset({"run_in_executor"})  # after another argument


def new_instances(value: Value, call: ast.Call | None = None) -> Values:
    """Return the object that a call of a class creates; nothing for other values."""
    if isinstance(value, LocalClass):
        return frozenset({LocalInstance(value.node)})
    if isinstance(value, Symbol) and is_class(value.name):
        return frozenset({Instance(value.name, call)})
    return UNKNOWN


def is_class(symbol: str) -> bool:
    """True if a dotted name is a class of v1 with an entry of its own."""
    return symbol in BY_SYMBOL and symbol.rpartition(".")[2][:1].isupper()


def result(function: Value, call: ast.Call, evaluator: Interpreter) -> Values:
    """Return what a call of this function can result in."""
    if isinstance(function, LocalFunction):
        return evaluator.returned(function)
    if isinstance(function, BoundMethod):
        return _of_method(function, call)
    if isinstance(function, Symbol):
        return _of_symbol(function.name, call, evaluator)
    if isinstance(function, Partial):  # the call has only some of the arguments
        return _of_each(function.of, call, evaluator)
    return new_instances(function, call)


def _of_each(function: Value, call: ast.Call, evaluator: Interpreter) -> Values:
    """Return what a function can result in when another call, ``map``, calls it."""
    is_local = isinstance(function, (LocalFunction, Partial))
    return result(function, call, evaluator) if is_local else new_instances(function)


def _of_method(method: BoundMethod, call: ast.Call) -> Values:
    owner, name = method.owner, method.name
    if isinstance(owner, Instance):
        known = {"__enter__": owner, **_RESULTS}.get(name)
        return frozenset({replace(known, creation=known.creation or call)}) if known else UNKNOWN
    if name in _SAME_METHODS:
        return frozenset({owner})
    if name == "items":
        return items([items([UNKNOWN, owner.any], (0, 1))])
    return owner.any if name in _ONE_OF else UNKNOWN


def _of_symbol(name: str, call: ast.Call, evaluator: Interpreter) -> Values:
    last = name.rpartition(".")[2]
    if name.startswith("tensorrtserver.") and last == "create_shared_memory_region":
        return frozenset({Instance(HANDLE, call)})
    if name == f"{_PROTOCOL}.from_str":
        return frozenset({Instance(_PROTOCOL, call)})
    if name == "importlib.import_module":
        return frozenset({Symbol(imported(call))})
    if name == "builtins.__import__":  # returns the package
        return frozenset({Symbol(imported(call).partition(".")[0])})
    if name == "functools.partial":
        first = evaluator.of(call.args[0]) if call.args else UNKNOWN
        inner = (Partial(item) for item in first if not isinstance(item, Partial))
        return frozenset({CALLABLE, *inner})
    if name == "builtins.super":
        owner = evaluator.scopes.enclosing_class(call)
        return frozenset({LocalInstance(owner, parent=True)}) if owner else UNKNOWN
    if name == "builtins.getattr":
        return _getattr(call, evaluator)
    if name == "builtins.dict" and call.keywords:
        return items([evaluator.of(keyword.value) for keyword in call.keywords])
    if last in _CONTAINERS and not call.args:
        return items([])
    if not call.args:
        return new_instances(Symbol(name), call)
    arguments = [evaluator.of(argument) for argument in call.args]
    if last in _CONTAINERS:
        return frozenset(
            argument for argument in arguments[0] if isinstance(argument, Items)
        ) or items([])
    if last == "next":
        return element(arguments[0])
    if last == "enumerate":
        return items([items([UNKNOWN, element(arguments[0])], (0, 1))])
    if name == "builtins.map":
        return items([union(_of_each(argument, call, evaluator) for argument in arguments[0])])
    if last == "zip":
        return items([items([element(argument) for argument in arguments], range(len(arguments)))])
    return new_instances(Symbol(name), call)


def same(call: ast.Call, evaluator: Interpreter) -> Values:
    """Return what a call returns that hands back its argument, as ``closing(context)`` does."""
    name = spelt(call.func).rpartition(".")[2]
    return evaluator.of(call.args[0]) if call.args and name in _HANDING_BACK else UNKNOWN


def _getattr(call: ast.Call, evaluator: Interpreter) -> Values:
    if len(call.args) < 2 or not isinstance(call.args[1], ast.Constant):
        return UNKNOWN
    name = str(call.args[1].value)
    return union(evaluator.member(argument, name) for argument in evaluator.of(call.args[0]))


def targets(call: ast.Call, evaluator: Interpreter) -> Iterator[Target]:
    """Yield the functions that a call calls or hands over, each with the arguments that it gets."""
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    positional = _given(call.args, evaluator)
    yield call.func, positional, named
    if getattr(call.func, "attr", "") in _LATER and len(call.args) > 1:
        yield call.args[1], positional[2:], named
    if call.args and _hands_over(call, evaluator):
        mapped = getattr(call.func, "attr", getattr(call.func, "id", "")) in ("map", "imap")
        rest = [element(argument) for argument in positional[1:]] if mapped else positional[1:]
        yield call.args[0], rest, named
    yield from _callbacks(call, evaluator)
    if "target" in named:  # of a thread or process
        arguments = named.get("args")
        inner = arguments.elts if isinstance(arguments, (ast.Tuple, ast.List)) else []
        keywords = named.get("kwargs")
        yield named["target"], _given(inner, evaluator), _named(keywords)


def _callbacks(call: ast.Call, evaluator: Interpreter) -> Iterator[Target]:
    """Yield the callback of an asynchronous request, which gets the context and the request."""
    contexts = frozenset(
        value.owner
        for value in evaluator.of(call.func)
        if isinstance(value, BoundMethod)
        and isinstance(value.owner, Instance)
        and value.name in ("async_run", "async_run_with_cb")
    )
    named = [keyword.value for keyword in call.keywords if keyword.arg == "callback"]
    request: Values = frozenset({Instance(REQUEST, call)})
    for callback in [*named, *call.args[:1]] if contexts else []:
        if isinstance(callback, ast.Call) and CALLABLE in evaluator.of(callback):
            inner = _given(callback.args, evaluator)
            yield from (
                (argument, [*inner[1:], contexts, request], {}) for argument in callback.args[:1]
            )
        else:
            yield callback, [contexts, request], {}


def _given(arguments: list[ast.expr], evaluator: Interpreter) -> list[Values]:
    values: list[Values] = []
    for argument in arguments:
        if isinstance(argument, ast.Starred):
            break
        values.append(evaluator.of(argument))
    return values


def _named(keywords: ast.expr | None) -> dict[str, ast.expr]:
    if isinstance(keywords, ast.Call):  # dict(name=value)
        return {keyword.arg: keyword.value for keyword in keywords.keywords if keyword.arg}
    if not isinstance(keywords, ast.Dict):
        return {}
    pairs = zip(keywords.keys, keywords.values)
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}


def _hands_over(call: ast.Call, evaluator: Interpreter) -> bool:
    """True if a call passes arguments to its first argument: ``partial``, ``map``."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _HANDING:
        return True
    return bool(evaluator.of(call.func) & {Symbol("functools.partial"), Symbol("builtins.map")})

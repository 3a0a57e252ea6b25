"""A call → its results, and the functions of the file that get its arguments."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Dict, Iterator, List, Tuple

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.scopes import last_name, spelt
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
    Symbol,
    Value,
    Values,
    element,
    items,
    union,
)
from tritonclient_shim.registry import BY_SYMBOL

if TYPE_CHECKING:
    from tritonclient_shim.migrate.evaluator import Evaluator

Target = Tuple[ast.expr, List[Values], Dict[str, ast.expr]]
#: Functions that return a container, empty or with the elements of their argument.
_CONTAINERS = frozenset(
    ("list", "tuple", "set", "sorted", "reversed", "iter", "dict", "deque")
    + ("defaultdict", "OrderedDict", "Queue", "LifoQueue", "SimpleQueue")
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


def result(function: Value, call: ast.Call, evaluator: Evaluator) -> Values:
    """Return what a call of this function can result in."""
    if isinstance(function, LocalFunction):
        return evaluator.returned(function)
    if isinstance(function, BoundMethod):
        return _of_method(function, call)
    if isinstance(function, Symbol):
        return _of_symbol(function.name, call, evaluator)
    return new_instances(function, call)


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


def _of_symbol(name: str, call: ast.Call, evaluator: Evaluator) -> Values:
    last = name.rpartition(".")[2]
    if name.startswith("tensorrtserver.") and last == "create_shared_memory_region":
        return frozenset({Instance(HANDLE, call)})
    if name == f"{_PROTOCOL}.from_str":
        return frozenset({Instance(_PROTOCOL, call)})
    if name == "functools.partial":
        return frozenset({CALLABLE})
    if name == "builtins.super":
        owner = evaluator.scopes.enclosing_class(call)
        return frozenset({LocalInstance(owner, parent=True)}) if owner else UNKNOWN
    arguments = [evaluator.of(argument) for argument in call.args]
    if last in _CONTAINERS:
        given = (item for item in union(arguments[:1]) if isinstance(item, Items))
        return frozenset(given) or items([])
    if last == "enumerate":
        return items([items([UNKNOWN, element(union(arguments))], (0, 1))])
    if last == "zip":
        return items([items(map(element, arguments), range(len(arguments)))])
    return new_instances(Symbol(name), call)


def same(call: ast.Call, evaluator: Evaluator) -> Values:
    """Return what a call returns that hands back its argument, as ``closing(context)`` does."""
    is_same = spelt(call.func).rpartition(".")[2] in _HANDING_BACK
    return evaluator.of(call.args[0]) if call.args and is_same else UNKNOWN


def targets(call: ast.Call, evaluator: Evaluator) -> Iterator[Target]:
    """Yield the functions that a call calls or hands over, each with the arguments that it gets."""
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    positional = _given(call.args, evaluator)
    yield call.func, positional, named
    if call.args and _hands_over(call, evaluator):
        mapped = last_name(call.func) in ("map", "imap")
        yield call.args[0], [element(x) if mapped else x for x in positional[1:]], named
    yield from _callbacks(call, evaluator)
    if "target" in named:  # of a thread or process
        arguments = named.get("args")
        inner = arguments.elts if isinstance(arguments, (ast.Tuple, ast.List)) else []
        yield named["target"], _given(inner, evaluator), {}


def _callbacks(call: ast.Call, evaluator: Evaluator) -> Iterator[Target]:
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


def _given(arguments: list[ast.expr], evaluator: Evaluator) -> list[Values]:
    values: list[Values] = []
    for argument in arguments:
        if isinstance(argument, ast.Starred):
            break
        values.append(evaluator.of(argument))
    return values


def _hands_over(call: ast.Call, evaluator: Evaluator) -> bool:
    """True if a call passes arguments to its first argument: ``partial``, ``map``."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _HANDING:
        return True
    return bool(evaluator.of(call.func) & {Symbol("functools.partial"), Symbol("builtins.map")})

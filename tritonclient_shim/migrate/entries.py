"""An expression → the ids of the registry for what it stands for."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.calls import is_class
from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.values import (
    CALLABLE,
    BoundMethod,
    Instance,
    Items,
    LocalClass,
    LocalFunction,
    Symbol,
    Value,
    element,
    union,
)
from tritonclient_shim.registry import BY_SYMBOL, ENTRIES
from tritonclient_shim.registry.entry import IMPORT, RegistryEntry
from tritonclient_shim.registry.patterns import REMOVED_FROM_NUMPY

#: Methods of these names count as v1's on any object.
_UNMISTAKABLE = (
    *("get_server_status", "get_model_repository_index", "get_shared_memory_status"),
    *("cuda_register", "async_run", "async_run_with_cb", "get_async_run_results"),
    *("get_ready_async_request", "get_stat", "get_last_request_id"),
    *("get_last_request_model_name", "get_last_request_model_version"),
)
#: A method of these that tritonclient's clients have too.
_OF_BOTH = "get_model_repository_index"
_BY_METHOD = {
    symbol.rpartition(".")[2]: symbol
    for symbol in BY_SYMBOL
    if symbol.startswith(f"{API}.") and symbol.rpartition(".")[2] in _UNMISTAKABLE
}
#: ``typeDict`` is reported too. The ``run`` command does not restore it.
_REMOVED_FROM_NUMPY = REMOVED_FROM_NUMPY | {"typeDict"}
_RUN = f"{API}.InferContext.run"
_FORMATS = f"{API}.InferContext.ResultFormat."
_EXCEPTION = f"{API}.InferenceServerException"
#: Methods that only v1's exception has.
_OF_ERRORS = frozenset({"message", "server_id", "request_id"})


def entry_of(symbol: str) -> RegistryEntry | None:
    """Return the entry of a dotted name, or else the entry of what it belongs to."""
    while symbol:
        if symbol in BY_SYMBOL:
            return BY_SYMBOL[symbol]
        symbol = symbol.rpartition(".")[0]
    return None


def _removed_from_numpy(name: str) -> bool:
    return name.startswith("numpy.") and name[len("numpy.") :] in _REMOVED_FROM_NUMPY


def module_entry(name: str) -> str:
    """Return the id of an import by its dotted name; '' if the registry has none."""
    if f"{name}.".startswith("future."):
        return "TS203"
    if _removed_from_numpy(name):
        return "TS201"
    if not f"{name}.".startswith("tensorrtserver."):
        return ""
    entry = entry_of(name)
    return entry.id if entry and entry.kind == IMPORT else "TS009"


def entries_of(node: ast.expr, evaluator: Evaluator, call: ast.Call | None = None) -> list[str]:
    """Return the ids of everything that an expression can stand for, sorted.

    ``call``: the call whose function the expression is.
    """
    values = evaluator.of(node)
    entries = [_entry(value, node, call is not None, evaluator) for value in values]
    if not values and isinstance(node, ast.Attribute) and evaluator.imports.legacy:
        if node.attr in _OF_ERRORS and call is not None and evaluator.is_any_error(node.value):
            return [entry.id for entry in [_method(_EXCEPTION, node.attr)] if entry]
        if node.attr == _OF_BOTH and evaluator.imports.successor:
            return []
        is_run = node.attr == "run" and call is not None and not evaluator.imports.migrated
        is_run = is_run and call is not None and _gives_formats(call, evaluator)
        entries = [BY_SYMBOL.get(_RUN if is_run else _BY_METHOD.get(node.attr, ""))]
    return sorted({entry.id for entry in entries if entry})


def _gives_formats(call: ast.Call, evaluator: Evaluator) -> bool:
    """True if an argument holds v1's formats for outputs, which only a request takes."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    values = union(element(evaluator.of(argument)) for argument in arguments)
    formats = values | union(argument.at(0) for argument in values if isinstance(argument, Items))
    return any(isinstance(item, Symbol) and item.name.startswith(_FORMATS) for item in formats)


def _entry(
    value: Value, node: ast.expr, called: bool, evaluator: Evaluator
) -> RegistryEntry | None:
    if isinstance(value, BoundMethod) and isinstance(value.owner, Instance):
        return _method(value.owner.of, value.name)
    if isinstance(value, LocalClass) and called:
        return _constructor(value, evaluator)
    if not isinstance(value, Symbol):
        return None
    if _removed_from_numpy(value.name):
        return ENTRIES["TS201"]
    if not value.name.startswith("tensorrtserver."):
        return None
    entry = entry_of(value.name)
    return None if entry and entry.kind == IMPORT and isinstance(node, ast.Name) else entry


def _method(owner: str, name: str) -> RegistryEntry | None:
    symbol = f"{owner}.{name}"
    if name == "get_last_request_id" and owner.endswith("Context") and symbol not in BY_SYMBOL:
        return ENTRIES["TS046"]
    if name == "__init__" or owner == _EXCEPTION:
        return entry_of(symbol)
    return BY_SYMBOL.get(symbol)


def _constructor(value: LocalClass, evaluator: Evaluator) -> RegistryEntry | None:
    """Return the entry of the v1 class whose constructor a class of the file inherits."""
    methods = evaluator.attribute_of_object(value.node, "__init__")
    owners = [method.owner for method in methods if isinstance(method, BoundMethod)]
    return next((BY_SYMBOL.get(item.of) for item in owners if isinstance(item, Instance)), None)


def skipped(call: ast.Call, evaluator: Evaluator) -> int:
    """Return 1 if a method is called on its class, with the object as first argument; else 0."""
    for value in evaluator.of(call.func):
        if isinstance(value, Symbol) and is_class(value.name.rpartition(".")[0]):
            return int(not is_class(value.name) and value.name.startswith(f"{API}."))
    return 0


def async_style(call: ast.Call, evaluator: Evaluator, before: int, used: bool) -> str:
    """``async_run`` takes a callback first since 1.8 (TS052), and inputs until then (TS053)."""
    names = {keyword.arg for keyword in call.keywords}
    positional = call.args[before:]
    if "callback" in names:
        return "TS052"
    if not positional:
        return "TS053" if "inputs" in names else "TS052"
    first = evaluator.of(positional[0])
    if any(isinstance(part, Items) for part in first):
        return "TS053"
    callables = (LocalFunction, LocalClass, BoundMethod)
    if "inputs" in names or CALLABLE in first or any(isinstance(item, callables) for item in first):
        return "TS052"
    return "TS053" if used or "outputs" in names and len(positional) == 1 else "TS052"

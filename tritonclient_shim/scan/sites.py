"""Parsed source → its legacy uses, each with its id of the registry."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import takewhile
from typing import Mapping

from tritonclient_shim.registry import BY_SYMBOL, ENTRIES
from tritonclient_shim.registry.entry import IMPORT, REMOVED, RegistryEntry
from tritonclient_shim.registry.patterns import (
    ARGUMENT_PATTERNS,
    HANDLE_IN,
    HANDLE_OUT,
    PARAMETERS,
    REMOVED_FROM_NUMPY,
    WITH_SCHEME,
    ArgumentPattern,
)
from tritonclient_shim.scan.evaluator import Evaluator, is_class
from tritonclient_shim.scan.imports import API, called_module, is_of_v1
from tritonclient_shim.scan.values import (
    HANDLE,
    BoundMethod,
    Instance,
    Items,
    Symbol,
    Value,
    Values,
    element,
    union,
)

#: Methods of these names count as v1's on any object, unless its class is known.
UNMISTAKABLE = (
    *("get_server_status", "get_shared_memory_status", "cuda_register"),
    *("async_run", "async_run_with_cb", "get_async_run_results"),
    *("get_ready_async_request", "get_stat", "get_last_request_id"),
    *("get_last_request_model_name", "get_last_request_model_version"),
)
_BY_METHOD = {symbol.rpartition(".")[2]: entry for symbol, entry in BY_SYMBOL.items()}
_FORMATS = f"{API}.InferContext.ResultFormat."
_NUMPY = frozenset(f"numpy.{name}" for name in REMOVED_FROM_NUMPY)


@dataclass(frozen=True)
class Site:
    """One legacy use: its id, its node, and the call whose function or argument it is."""

    id: str
    node: ast.expr | ast.stmt
    call: ast.Call | None = None

    @property
    def whole(self) -> ast.AST:
        """Return the call, of a use that is one; else the node itself."""
        return self.node if self.call is None else self.call


def sites(evaluator: Evaluator) -> list[Site]:
    """Return every legacy use in a source, in the order of its nodes."""
    nodes = list(evaluator.scopes.places)
    imports = evaluator.imports
    unused = {node.value for node in nodes if isinstance(node, ast.Expr)}
    #: names of other packages that a star import provides, until their first read
    foreign = {name for name, symbol in imports.star.items() if not is_of_v1(symbol)}
    parts: set[ast.expr] = set()  # functions of calls that are uses, owners in dotted names
    uses: list[Site] = []
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            entries = [module_entry(imports.symbols[alias]) for alias in node.names]
            uses += [Site(id, node) for id in entries if id]
        elif isinstance(node, ast.Call):
            module = called_module(node)
            if is_of_v1(module):
                uses.append(Site(module_entry(module), node, node))
            calls = _calls(node, evaluator, node not in unused)
            uses += calls
            parts.update([node.func] if calls else [])
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            ids = _ids(node, evaluator) if node not in parts and evaluator.names(node) else []
            uses += [Site(id, node) for id in ids]
            if isinstance(node, ast.Attribute):
                parts.update([node.value] if ids or node in parts else [])
            elif node.id in foreign and node not in parts and evaluator.is_provided(node):
                foreign.remove(node.id)
                uses.append(Site("TS002", node))
    return uses


def _calls(call: ast.Call, evaluator: Evaluator, is_used: bool) -> list[Site]:
    """Return the uses that a call is, and the usage patterns that its arguments show."""
    owner = first_parameter(call, evaluator)
    uses = []
    for id in _ids(call.func, evaluator, call):
        if id == "TS052":
            id = _async_style(arguments((*owner, "first"), call), evaluator, is_used)
        uses.append(Site(id, call.func, call))
        names = PARAMETERS.get(id, ())
        for name, value in arguments((*owner, *names), call).items():
            patterns = (x for x in ARGUMENT_PATTERNS if x.parameter == name and name in names)
            uses += [Site(x.id, call, call) for x in patterns if _shows(x, value, evaluator)]
    return uses


def first_parameter(call: ast.Call, evaluator: Evaluator) -> tuple[str, ...]:
    """Return ``self`` for a method that is called on its class, which gets the object first."""
    symbols = (value.name for value in evaluator.of(call.func) if isinstance(value, Symbol))
    is_unbound = any(is_class(x.rpartition(".")[0]) and not is_class(x) for x in symbols)
    return ("self",) if is_unbound else ()


def _async_style(given: Mapping[str, ast.expr], evaluator: Evaluator, is_used: bool) -> str:
    """``async_run`` takes a callback first since 1.8 (TS052), and inputs until then (TS053)."""
    if "callback" in given or "inputs" in given:
        return "TS052" if given.keys() & {"callback", "first"} else "TS053"
    first = evaluator.of(given.get("first"))
    is_old = any(isinstance(item, Items) for item in first) if first else is_used
    return "TS053" if is_old else "TS052"


def _ids(node: ast.expr, evaluator: Evaluator, call: ast.Call | None = None) -> list[str]:
    """Return the ids of everything that an expression can stand for, sorted.

    ``call``: the call whose function the expression is.
    """
    values = evaluator.of(node)
    if call:
        values |= evaluator.constructors(values)
    entries = [_entry(value, node) for value in values]
    may_be_v1 = not values and evaluator.imports.uses_v1
    if may_be_v1 and isinstance(node, ast.Attribute) and not evaluator.is_own_method(node):
        is_run = node.attr == "run" and call is not None and _gives_formats(call, evaluator)
        entries = [_BY_METHOD[node.attr]] if is_run or node.attr in UNMISTAKABLE else []
    return sorted({entry.id for entry in entries if entry})


def _entry(value: Value, node: ast.expr) -> RegistryEntry | None:
    """Return the entry of a value of an expression."""
    if isinstance(value, BoundMethod) and isinstance(value.owner, Instance):
        if value.name in ("__init__", "message"):
            return BY_SYMBOL.get(value.owner.of)
        shared = ENTRIES["TS046"] if value.name == "get_last_request_id" else None
        return BY_SYMBOL.get(f"{value.owner.of}.{value.name}", shared)
    entry = _entry_of(value.name) if isinstance(value, Symbol) else None
    return None if entry and entry.kind == IMPORT and isinstance(node, ast.Name) else entry


def _entry_of(name: str) -> RegistryEntry | None:
    """Return the entry of a dotted name, or else the entry of what it belongs to."""
    if name in _NUMPY:
        return ENTRIES["TS201"]
    while is_of_v1(name) and name not in BY_SYMBOL:
        name = name.rpartition(".")[0]
    return BY_SYMBOL.get(name) if is_of_v1(name) else None


def module_entry(name: str) -> str:
    """Return the id of an import by its dotted name; '' if the registry has none."""
    if f"{name}.".startswith("future."):
        return "TS203"
    if name == f"{API}.*":
        return "TS001"
    entry = _entry_of(name)
    if entry and entry.kind in (IMPORT, REMOVED):
        return entry.id
    return "TS009" if is_of_v1(name) else ""


def arguments(names: tuple[str, ...], call: ast.Call) -> Mapping[str, ast.expr]:
    """Return the expression for each parameter of a call, as far as ``*`` and ``**`` hide none."""
    known = takewhile(lambda value: not isinstance(value, ast.Starred), call.args)
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return {**dict(zip(names, known)), **named}


def _gives_formats(call: ast.Call, evaluator: Evaluator) -> bool:
    """True if an argument holds v1's formats for outputs, which only a request takes."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    values = union(_elements(argument, evaluator) for argument in arguments)
    return any(isinstance(item, Symbol) and item.name.startswith(_FORMATS) for item in values)


def _elements(node: ast.expr, evaluator: Evaluator) -> Values:
    """Return the elements of a list or dict, and what is first in elements that are tuples."""
    values = element(evaluator.of(node))
    return values | element(values, 0)


def _shows(pattern: ArgumentPattern, value: ast.expr, evaluator: Evaluator) -> bool:
    """True if the argument shows the pattern. An unknown value counts as showing the pattern."""
    elements = _elements(value, evaluator)
    if pattern.kind == WITH_SCHEME:
        return "://" in str(getattr(value, "value", ""))
    if pattern.kind == HANDLE_IN:
        return any(isinstance(item, Instance) and item.of == HANDLE for item in elements)
    if pattern.kind == HANDLE_OUT:
        return Symbol(f"{_FORMATS}RAW") in element(elements, 0)
    try:
        return ast.literal_eval(value) not in pattern.harmless
    except (ValueError, TypeError):
        return True

"""Parsed source → its legacy uses, each with its id of the registry."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Iterator, Mapping

from tritonclient_shim.migrate.evaluator import Evaluator, is_class
from tritonclient_shim.migrate.imports import API, is_of_v1
from tritonclient_shim.migrate.values import (
    HANDLE,
    BoundMethod,
    Instance,
    Items,
    LocalClass,
    LocalInstance,
    Symbol,
    Value,
    Values,
    element,
    union,
)
from tritonclient_shim.registry import BY_SYMBOL, ENTRIES
from tritonclient_shim.registry.entry import IMPORT, RegistryEntry
from tritonclient_shim.registry.patterns import (
    ARGUMENT_PATTERNS,
    HANDLE_IN,
    HANDLE_OUT,
    PARAMETERS,
    REMOVED_FROM_NUMPY,
    WITH_SCHEME,
    ArgumentPattern,
)

#: Methods of these names count as v1's on any object.
_UNMISTAKABLE = (
    *("get_server_status", "get_shared_memory_status", "cuda_register"),
    *("async_run", "async_run_with_cb", "get_async_run_results"),
    *("get_ready_async_request", "get_stat", "get_last_request_id"),
    *("get_last_request_model_name", "get_last_request_model_version"),
)
_BY_METHOD = {
    symbol.rpartition(".")[2]: symbol
    for symbol in BY_SYMBOL
    if symbol.startswith(f"{API}.") and symbol.rpartition(".")[2] in _UNMISTAKABLE
}
_RUN = f"{API}.InferContext.run"
_FORMATS = f"{API}.InferContext.ResultFormat."
_RAW = Symbol(f"{_FORMATS}RAW")
_EXCEPTION = f"{API}.InferenceServerException"
_NUMPY = frozenset(f"numpy.{name}" for name in REMOVED_FROM_NUMPY)
#: Methods that only v1's exception has.
_OF_ERRORS = frozenset({"message", "server_id", "request_id"})


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
    """Return every legacy use in a source, in the order of a walk through its tree."""
    finder = _Finder(evaluator)
    finder.visit(evaluator.scopes.module.node)
    return finder.uses


class _Finder(ast.NodeVisitor):
    """A visitor that collects the legacy uses of a syntax tree."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.uses: list[Site] = []
        self._evaluator = evaluator
        self._imports = evaluator.imports
        self._unused: set[ast.expr] = set()  # calls whose value is not used
        self._called: set[ast.expr] = set()  # functions of calls that have been seen
        self._star_seen: set[str] = set()  # names that only the star import binds

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            id = module_entry(self._imports.symbols[alias])
            if id:
                self._add(node, id)

    visit_ImportFrom = visit_Import

    def visit_Expr(self, node: ast.Expr) -> None:
        self._unused.add(node.value)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._reference(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        is_legacy = self._reference(node)
        owners = self._evaluator.of(node.value)
        if not is_legacy or not any(isinstance(item, Symbol) for item in owners):
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        before = _skipped(node, self._evaluator)
        for id in _ids(node.func, self._evaluator, node):
            if id == "TS052":
                id = _async_style(node, self._evaluator, before, node not in self._unused)
            self._add(node.func, id, node)
            self._called.add(node.func)
            for pattern in _patterns_in(id, node, self._evaluator, before):
                self._add(node, pattern, node)
        self.generic_visit(node)

    def _reference(self, node: ast.Name | ast.Attribute) -> bool:
        """Note what a name or attribute stands for. True if that is anything of v1."""
        if not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Name) and self._evaluator.is_provided(node):
            is_first = node.id not in self._star_seen
            self._star_seen.add(node.id)
            if is_first and not is_of_v1(self._imports.star[node.id]):
                self._add(node, "TS002")
        if node in self._called:
            return True
        ids = _ids(node, self._evaluator) if self._evaluator.names(node) else []
        for id in ids:
            self._add(node, id)
        return bool(ids)

    def _add(self, node: ast.expr | ast.stmt, id: str, call: ast.Call | None = None) -> None:
        self.uses.append(Site(id, node, call))


# ------------------------------------------------------------- an expression → its ids


def _entry_of(symbol: str) -> RegistryEntry | None:
    """Return the entry of a dotted name, or else the entry of what it belongs to."""
    while symbol:
        if symbol in BY_SYMBOL:
            return BY_SYMBOL[symbol]
        symbol = symbol.rpartition(".")[0]
    return None


def module_entry(name: str) -> str:
    """Return the id of an import by its dotted name; '' if the registry has none."""
    if f"{name}.".startswith("future."):
        return "TS203"
    if name in _NUMPY:
        return "TS201"
    if not is_of_v1(name):
        return ""
    if name == f"{API}.*":
        return "TS001"
    entry = _entry_of(name)
    return entry.id if entry and entry.kind == IMPORT else "TS009"


def _ids(node: ast.expr, evaluator: Evaluator, call: ast.Call | None = None) -> list[str]:
    """Return the ids of everything that an expression can stand for, sorted.

    ``call``: the call whose function the expression is.
    """
    values = evaluator.of(node)
    entries = [_entry(value, node, call is not None, evaluator) for value in values]
    if not values and isinstance(node, ast.Attribute) and evaluator.imports.legacy:
        is_run = node.attr == "run" and call is not None and _gives_formats(call, evaluator)
        entries = [BY_SYMBOL.get(_RUN if is_run else _BY_METHOD.get(node.attr, ""))]
    return sorted({entry.id for entry in entries if entry})


def _gives_formats(call: ast.Call, evaluator: Evaluator) -> bool:
    """True if an argument holds v1's formats for outputs, which only a request takes."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    values = union(_elements(argument, evaluator) for argument in arguments)
    return any(isinstance(item, Symbol) and item.name.startswith(_FORMATS) for item in values)


def _elements(node: ast.expr, evaluator: Evaluator) -> Values:
    """Return the elements of a list or dict, and what is first in elements that are tuples."""
    values = element(evaluator.of(node))
    return values | union(item.at(0) for item in values if isinstance(item, Items))


def _entry(
    value: Value, node: ast.expr, called: bool, evaluator: Evaluator
) -> RegistryEntry | None:
    if isinstance(value, BoundMethod) and isinstance(value.owner, Instance):
        return _method(value.owner.of, value.name)
    if isinstance(value, LocalClass) and called:
        return _constructor(value, evaluator)
    if not isinstance(value, Symbol):
        return None
    if value.name in _NUMPY:
        return ENTRIES["TS201"]
    if not is_of_v1(value.name):
        return None
    entry = _entry_of(value.name)
    return None if entry and entry.kind == IMPORT and isinstance(node, ast.Name) else entry


def _method(owner: str, name: str) -> RegistryEntry | None:
    symbol = f"{owner}.{name}"
    if name == "get_last_request_id" and owner.endswith("Context") and symbol not in BY_SYMBOL:
        return ENTRIES["TS046"]
    is_part = name == "__init__" or owner == _EXCEPTION and name in _OF_ERRORS
    return _entry_of(symbol) if is_part else BY_SYMBOL.get(symbol)


def _constructor(value: LocalClass, evaluator: Evaluator) -> RegistryEntry | None:
    """Return the entry of the v1 class whose constructor a class of the file inherits."""
    methods = evaluator.member(LocalInstance(value.node), "__init__")
    owners = [method.owner for method in methods if isinstance(method, BoundMethod)]
    return next((BY_SYMBOL.get(item.of) for item in owners if isinstance(item, Instance)), None)


def _skipped(call: ast.Call, evaluator: Evaluator) -> int:
    """Return 1 if a method is called on its class, with the object as first argument; else 0."""
    names = (value.name for value in evaluator.of(call.func) if isinstance(value, Symbol))
    return int(any(is_class(name.rpartition(".")[0]) and not is_class(name) for name in names))


def _async_style(call: ast.Call, evaluator: Evaluator, before: int, used: bool) -> str:
    """``async_run`` takes a callback first since 1.8 (TS052), and inputs until then (TS053)."""
    names = {keyword.arg for keyword in call.keywords}
    positional = call.args[before:]
    if "callback" in names or positional and "inputs" in names:
        return "TS052"
    first = evaluator.of(positional[0]) if positional else frozenset()
    is_unknown = not first and (used or "inputs" in names)
    is_old = is_unknown or any(isinstance(item, Items) for item in first)
    return "TS053" if is_old else "TS052"


# ------------------------------------------------- a call → the usage patterns in its arguments


def _patterns_in(id: str, call: ast.Call, evaluator: Evaluator, skipped: int) -> Iterator[str]:
    """Yield the usage patterns in a call of what ``id`` stands for.

    ``skipped``: how many arguments come before its parameters: 1 for ``InferContext.run(self)``.
    """
    if id not in PARAMETERS:
        return
    for name, value in arguments(PARAMETERS[id], call, skipped).items():
        for pattern in ARGUMENT_PATTERNS:
            if pattern.parameter == name and _shows(pattern, value, evaluator):
                yield pattern.id


def arguments(names: tuple[str, ...], call: ast.Call, skipped: int = 0) -> Mapping[str, ast.expr]:
    """Return the expression for each parameter of a call, as far as ``*`` and ``**`` hide none."""
    expressions: dict[str, ast.expr] = {}
    for name, value in zip(names, call.args[skipped:]):
        if isinstance(value, ast.Starred):
            break
        expressions[name] = value
    expressions.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    return expressions


def _shows(pattern: ArgumentPattern, value: ast.expr, evaluator: Evaluator) -> bool:
    """True if the argument shows the pattern. An unknown value counts as showing the pattern."""
    if pattern.kind == WITH_SCHEME:
        return "://" in str(getattr(value, "value", ""))
    if pattern.kind == HANDLE_IN:
        values = _elements(value, evaluator)
        return any(isinstance(item, Instance) and item.of == HANDLE for item in values)
    if pattern.kind == HANDLE_OUT:
        values = _elements(value, evaluator)
        return any(isinstance(x, Items) and len(x.keys) == 2 and _RAW in x.at(0) for x in values)
    try:
        return ast.literal_eval(value) not in pattern.harmless
    except (ValueError, TypeError):
        return True

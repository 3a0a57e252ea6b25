"""Find the functions that only new processes call."""

from __future__ import annotations

import ast
from typing import Iterator

from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.scan.scopes import Scope, last_name
from tritonclient_shim.scan.values import Symbol

#: What starts processes with a function, by its name on an object that is not known.
_STARTING = ("Process", "Pool", "ProcessPoolExecutor")
_MODULES = ("multiprocessing.", "torch.multiprocessing.", "billiard.", "concurrent.futures.")
_THREADS = ("multiprocessing.dummy.", "multiprocessing.pool.ThreadPool")


def functions_of_processes(facts: FileFacts) -> frozenset[str]:
    """Return the names of the functions of a module that only new processes call.

    A process starts with them, or one of them calls another. None of them starts processes.
    """
    scopes = facts.evaluator.scopes
    functions = {
        node.name: scopes.of_node[node]
        for node in facts.source.tree.body
        if isinstance(node, ast.FunctionDef)
        and len(scopes.module.bindings[node.name]) == 1
        and not node.decorator_list
        and not {node.name} & (facts.beside.taken | _texts(facts))
    }
    size = -1
    while size != len(functions):
        size = len(functions)
        own = set(functions.values())
        functions = {
            name: scope
            for name, scope in functions.items()
            if all(_is_of_process(node, own, facts) for node in _reads(name, facts))
        }
    own = set(functions.values())
    starts = any(_starts_process(call, facts) for scope in own for call in _calls_in(scope))
    return frozenset() if starts else frozenset(functions)


def _texts(facts: FileFacts) -> set[object]:
    """Return the texts of a file, which may name functions."""
    return {node.value for node in facts.flows.parents if isinstance(node, ast.Constant)}


def _reads(name: str, facts: FileFacts) -> Iterator[ast.expr]:
    """Yield all reads of a name, also as an attribute."""
    for node in facts.flows.parents:
        is_attribute = isinstance(node, ast.Attribute)
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.expr) and (is_attribute or is_read) and last_name(node) == name:
            yield node


def _is_of_process(node: ast.expr, own: set[Scope], facts: FileFacts) -> bool:
    """True if a process starts with a function that is read, or one of its functions calls it."""
    parent = facts.flows.parents[node]
    if isinstance(node, ast.Attribute):
        return False
    if isinstance(parent, ast.keyword):
        parent = facts.flows.parents[parent]
    if not isinstance(parent, ast.Call):
        return False
    if parent.func is node:
        return facts.evaluator.scopes.places[parent].scope in own
    return _starts_process(parent, facts)


def _starts_process(call: ast.Call, facts: FileFacts) -> bool:
    """True if a call starts processes with its arguments."""
    if last_name(call.func) not in _STARTING:
        return False
    values = facts.evaluator.of(call.func)
    if not values:  # such as get_context().Pool
        return isinstance(call.func, ast.Attribute)
    names = [value.name for value in values if isinstance(value, Symbol)]
    are_known = all(name.startswith(_MODULES) and not name.startswith(_THREADS) for name in names)
    return len(names) == len(values) and are_known


def _calls_in(scope: Scope) -> Iterator[ast.Call]:
    """Yield the calls in a function, and in functions in it."""
    for node in ast.walk(scope.node):
        if isinstance(node, ast.Call):
            yield node

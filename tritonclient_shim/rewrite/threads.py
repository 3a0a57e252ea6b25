"""Whether contexts are used by other threads than the one that makes them."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.scopes import spelt
from tritonclient_shim.migrate.values import LocalInstance
from tritonclient_shim.rewrite.calling import Function
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import Group

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def crosses(group: Group, draft: Draft) -> bool:
    """Whether a request is made in a thread that has not made the context for itself."""
    threads = draft.in_threads
    used = any(_runs(call, draft, threads) for call in group.calls)
    return used and any(
        not _runs(call, draft, threads) or not _is_own(call, draft) for call in group.made
    )


def _runs(node: ast.AST, draft: Draft, functions: set[Function]) -> bool:
    """Whether a node is in one of these functions."""
    current: ast.AST | None = node
    while current is not None and not isinstance(current, _FUNCTIONS):
        current = draft.flows.parents.get(current)
    return current in functions


def _is_own(call: ast.Call, draft: Draft) -> bool:
    """Whether the context is kept where no other thread finds it."""
    parent = draft.flows.parents[call]
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    return all(_is_local(one, draft) for one in targets)


def _is_local(target: ast.expr, draft: Draft) -> bool:
    if isinstance(target, ast.Name):
        place = draft.evaluator.scopes.places[target]
        return place.scope.owner(target.id) is place.scope.frame
    if not isinstance(target, ast.Attribute):
        return False
    if isinstance(target.value, ast.Name):
        definitions = (one.definition.node for one in draft.bindings(target.value))
        if any(isinstance(one, ast.Call) and _is_of_thread(one.func) for one in definitions):
            return True
    owners = draft.evaluator.of(target.value)
    classes = (one.node for one in owners if isinstance(one, LocalInstance))
    return any(_is_of_thread(base) for one in classes for base in one.bases)


def _is_of_thread(node: ast.expr) -> bool:
    """Whether an expression is ``threading.local``."""
    return spelt(node) in ("threading.local", "local")

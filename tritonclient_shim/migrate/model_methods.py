"""The methods of ``InferModel`` that a program calls. Only these are written into its files."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.decisions import Decisions
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.flows import CONTEXTS
from tritonclient_shim.scan.scopes import Binding, last_name
from tritonclient_shim.scan.values import Instance, Items, Other, Symbol

_ENTERED = frozenset(("__enter__", "__exit__", "close"))
_REQUESTS = frozenset(("run", "async_run", "async_run_with_cb"))
#: The methods of contexts that no options or reports need.
_PLAIN = _ENTERED | {"run"}
_OPTIONS = frozenset({"correlation_id"})
_REPORTS = frozenset(
    ("get_stat", "get_last_request_id")
    + ("get_last_request_model_name", "get_last_request_model_version")
)


def unused_methods(facts: FileFacts, decisions: Decisions) -> frozenset[str]:
    """Return the methods that no code calls of an object that knows its model."""
    called = set(facts.flows.attributes)
    if called & _REQUESTS:
        called.add("run")
    if any(last_name(call.func) == "closing" for call in facts.evaluator.scopes.calls):
        called.add("close")
    if _enters_contexts(facts):
        called |= _ENTERED
    if decisions.hands_models:
        called |= _PLAIN
        called |= frozenset() if facts.has_plain_requests else _OPTIONS
    if decisions.hands_models and facts.asks:
        called |= _REPORTS
    return (_PLAIN | _OPTIONS | _REPORTS) - called


def _enters_contexts(facts: FileFacts) -> bool:
    """True if a ``with`` statement, or an exit stack, may have a context for requests."""
    for node, parent in facts.flows.parents.items():
        is_entered = isinstance(parent, ast.withitem) and parent.context_expr is node
        if isinstance(parent, ast.Call) and node in parent.args:
            is_entered = last_name(parent.func) == "enter_context"
        if is_entered and isinstance(node, ast.expr) and _may_be_context(node, facts):
            return True
    return False


def _may_be_context(node: ast.expr, facts: FileFacts) -> bool:
    """True if an expression may stand for a context of v1. ``closing`` enters none."""
    if isinstance(node, ast.Call) and last_name(node.func) == "closing":
        return False
    values = facts.evaluator.of(node)
    if any(isinstance(value, Instance) and value.of in CONTEXTS for value in values):
        return True
    if values and not any(isinstance(value, (Items, Other)) for value in values):
        return False
    if isinstance(node, ast.Call):
        return not _is_of_a_package(node, facts)
    bindings = facts.evaluator.scopes.bindings(node)
    return not bindings or not all(_is_made_by_a_package(item, facts) for item in bindings)


def _is_made_by_a_package(binding: Binding, facts: FileFacts) -> bool:
    """True if a name gets the result of a function of another package."""
    if not isinstance(binding.node, ast.Call) or binding.steps:
        return False
    return _is_of_a_package(binding.node, facts)


def _is_of_a_package(call: ast.Call, facts: FileFacts) -> bool:
    """True for a call of a function of another package, such as ``open``."""
    functions = facts.evaluator.of(call.func)
    known = all(isinstance(function, Symbol) for function in functions)
    return bool(functions) and known and last_name(call.func) != "next"

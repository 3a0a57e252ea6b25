"""What a program calls of ``InferModel``: its methods, and options of requests.

Nothing else of the class is written into a file.
"""

from __future__ import annotations

import ast
import re

from tritonclient_shim.migrate.decisions import Decisions
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import Binding, last_name
from tritonclient_shim.scan.values import Instance, Items, Other, Symbol

_CONTEXT = f"{API}.InferContext"
_ENTERED = frozenset(("__enter__", "__exit__", "close"))
_REQUESTS = frozenset(("run", "async_run", "async_run_with_cb"))
#: The methods of contexts that no options or reports need.
_PLAIN = _ENTERED | {"run"}
_OPTIONS = frozenset({"correlation_id"})
_REPORTS = frozenset(
    ("get_stat", "get_last_request_id")
    + ("get_last_request_model_name", "get_last_request_model_version")
)
#: What names an option of a request, or the method that returns one.
_OPTION_NAMES = re.compile(r"flags|corr_id|correlation|FLAG_|priority|timeout")
_OPTION_PARAMETERS = frozenset(("flags", "corr_id", "priority", "timeout_us"))
#: Inputs, outputs and a batch size.
_PLAIN_ARGUMENTS = 3


def has_plain_requests(facts: FileFacts, decisions: Decisions) -> bool:
    """True if no request of an object has options but its batch size."""
    may_be_elsewhere = facts.beside.linked or _OPTION_NAMES.search(facts.full_text)
    if decisions.hands_models and may_be_elsewhere:
        return False
    for node, parent in facts.flows.parents.items():
        if not isinstance(node, ast.Attribute) or node.attr not in _REQUESTS:
            continue
        if not isinstance(parent, ast.Call) or parent.func is not node or not _is_plain(parent):
            return False  # the code that gets the method may give it options
    return True


def _is_plain(call: ast.Call) -> bool:
    """True for a request without options, except for its batch size."""
    names = {keyword.arg for keyword in call.keywords}
    if None in names or any(isinstance(part, ast.Starred) for part in call.args):
        return False
    return len(call.args) <= _PLAIN_ARGUMENTS and names.isdisjoint(_OPTION_PARAMETERS)


def unused_methods(facts: FileFacts, decisions: Decisions) -> frozenset[str]:
    """Return the methods that no code calls of an object that knows its model."""
    called = set(facts.flows.attributes)
    if called & _REQUESTS:
        called.add("run")
    if _enters_contexts(facts):
        called |= _ENTERED
    if _closes_unseen(facts):
        called.add("close")
    if decisions.hands_models:
        called |= _PLAIN
        called |= frozenset() if has_plain_requests(facts, decisions) else _OPTIONS
    if decisions.hands_models and facts.asks:
        called |= _REPORTS
    if not decisions.asks_models:
        called -= _REPORTS
    return (_PLAIN | _OPTIONS | _REPORTS) - called


def _closes_unseen(facts: FileFacts) -> bool:
    """True if the end of a block may close a context: by ``closing()`` or ``__exit__()``."""
    calls = {last_name(call.func) for call in facts.evaluator.scopes.calls}
    return not calls.isdisjoint(("closing", "__exit__"))


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
    """True if an expression may stand for a context for requests. ``closing`` enters none."""
    if isinstance(node, ast.Call) and last_name(node.func) == "closing":
        return False
    values = facts.evaluator.of(node)
    if any(isinstance(value, Instance) and value.of == _CONTEXT for value in values):
        return True
    if values and not any(isinstance(value, (Items, Other)) for value in values):
        return False
    if isinstance(node, ast.Call):
        return not _is_of_a_package(node, facts)
    scopes = facts.evaluator.scopes
    bindings = list(scopes.bindings(node))
    if isinstance(node, ast.Attribute):
        bindings = [binding for _, binding in scopes.attributes.get(node.attr, [])]
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

"""Move the model of an ``InferContext``, its version and its sequence to the requests.

That needs expressions that have equal values at the context and at each request. Else the context
becomes an ``InferModel`` of the helpers, which has the methods of the context.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum
from typing import Callable, Mapping

from tritonclient_shim.migrate.decisions import Plan, Refused
from tritonclient_shim.migrate.edits import Part, new_text
from tritonclient_shim.migrate.facts import (
    FileFacts,
    call_arguments,
    hides_arguments,
    refuse_effects,
)
from tritonclient_shim.migrate.flows import CLOSING, Group
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import Binding, Place, last_name
from tritonclient_shim.scan.sites import first_parameter
from tritonclient_shim.scan.values import Symbol

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FIXED = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.List, ast.Tuple)
_PLAIN = (*_FIXED, ast.Attribute)
CLASS = Symbol(f"{API}.InferContext")
_Arguments = Mapping[str, ast.expr]
#: Ids of requests: those that start an asynchronous one, and all.
STARTS = ("TS052", "TS053", "TS054")
REQUESTS = ("TS051", *STARTS)
_ASKING = frozenset(
    ("get_stat", "get_last_request_id")
    + ("get_last_request_model_name", "get_last_request_model_version")
)
_STARTING = frozenset({"async_run", "async_run_with_cb"})
_SENDING = frozenset({"run", *_STARTING})
_FETCHING = "get_async_run_results"
_WITHOUT_MODEL = frozenset(("__enter__", _FETCHING, *CLOSING))


class Form(Enum):
    """What a context for requests becomes."""

    CLIENT = "client"
    OBJECT = "InferModel(client, model_name)"


@dataclass(frozen=True)
class Contexts:
    """A group of contexts: what they become, and what their uses need to know."""

    group: Group
    facts: FileFacts
    form: Form = Form.CLIENT
    escapes: bool = False  # code that is not seen gets the objects, or makes some

    def name(self) -> str:
        """Return the expression for the model's name."""
        return self.facts.text(self._first["model_name"])

    def sequence(self) -> str:
        """Return the expression for the sequence of the requests; '' for none."""
        node = self._first.get("correlation_id")
        known = self.facts.constant(node)
        if node is None or not known:
            return ""
        return str(int(known)) if isinstance(known, int) else f"int({self.facts.text(node)})"

    def options(self) -> dict[str, Part]:
        """Return the expression for each parameter of ``infer``."""
        version = self._first.get("model_version")
        known = self.facts.constant(version)
        options: dict[str, Part] = {}
        if known is ... and version is not None:
            options["model_version"] = new_text("{version_name}({0})", self.facts.text(version))
        elif isinstance(known, int) and int(known) >= 0:
            options["model_version"] = self.facts.quoted(str(int(known)))
        if self.sequence():
            options["sequence_id"] = self.sequence()
        return options

    @property
    def starts(self) -> bool:
        """True if the program sends asynchronous requests."""
        return any(last_name(call.func) in _STARTING for call in self.group.calls)

    @property
    def sends(self) -> bool:
        """True if the program sends requests."""
        return any(last_name(call.func) in _SENDING for call in self.group.calls)

    @property
    def asks(self) -> bool:
        """True if the program asks for the last request, or how long requests took."""
        is_asked = any(last_name(call.func) in _ASKING for call in self.group.calls)
        return is_asked or self.escapes and self.facts.asks

    @property
    def shared(self) -> bool:
        """True if several threads may send requests. HTTP clients are not thread-safe."""
        return self.starts or self.facts.has_threads

    @property
    def _first(self) -> _Arguments:
        return context_arguments(self.group.creations[0], "TS050", self.facts)


#: The use of a context → its plan.
Rule = Callable[[ast.Call, FileFacts, Contexts], Plan]


def form_of(group: Group, facts: FileFacts) -> Form:
    """Return what contexts become that no other code gets."""
    if any(map(hides_arguments, (*group.creations, *group.calls))):
        return Form.OBJECT
    used = {last_name(call.func) for call in group.calls}
    requests = [call for call in group.calls if last_name(call.func) in _SENDING]
    with_id = {site.call for site in facts.sites if site.id == "TS111"}
    # the later requests belong to the sequence, too
    is_later = "correlation_id" in used or not with_id.issuperset(requests)
    is_sequence = is_later and with_id.intersection(requests)
    is_asked = used & _ASKING
    if is_sequence or is_asked or any(node.attr not in CLOSING for node in group.taken):
        return Form.OBJECT
    parameters = ("model_name", "model_version", "correlation_id")
    are_known = all(_is_repeatable(parameter, group, facts) for parameter in parameters)
    return Form.CLIENT if are_known else Form.OBJECT


def is_entered(group: Group, facts: FileFacts) -> bool:
    """True if a ``with`` statement has one of the contexts."""
    return any(isinstance(facts.flows.parents[x], ast.withitem) for x in group.creations)


def _is_repeatable(parameter: str, group: Group, facts: FileFacts) -> bool:
    """True if an argument has one value for all contexts, and the same one at their uses."""
    nodes = [context_arguments(call, "TS050", facts).get(parameter) for call in group.creations]
    if len({node and facts.text(node) for node in nodes}) > 1:
        return False
    return all(
        same_at(node, use, facts)
        for node in nodes
        for use in group.calls
        if node is not None and last_name(use.func) not in _WITHOUT_MODEL
    )


def parameters_of(call: ast.Call, id: str, facts: FileFacts) -> tuple[str, ...]:
    """Return the parameters of a constructor, with ``self`` if it is called on its class."""
    return (*first_parameter(call, facts.evaluator), *PARAMETERS[id])


def context_arguments(call: ast.Call, id: str, facts: FileFacts) -> _Arguments:
    """Return the arguments of a constructor. Raise Refused if any that is needed is missing."""
    arguments = call_arguments(parameters_of(call, id, facts), call)
    needed = ("url", "protocol", *(["model_name"] if id == "TS050" else []))
    if not arguments.keys() >= set(needed):
        raise Refused(f"give the context its {', '.join(needed)} in the call")
    refuse_effects(arguments.values())
    return arguments


# ------------------------------------------- values that a context and its uses have in common


def same_at(node: ast.expr, use: ast.Call, facts: FileFacts) -> bool:
    """True if an argument of a context has the same value at a use of the context.

    Attributes of objects may change between functions.
    """
    if getattr(use.func, "value", None) is _creation(node, facts):
        return True  # both are one expression
    places = facts.evaluator.scopes.places
    is_here = places[node].scope is places[use].scope
    parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
    if not all(isinstance(part, _PLAIN if is_here else _FIXED) for part in parts):
        return False
    names = [part for part in parts if isinstance(part, ast.Name)]
    return all(_is_fixed(name, use, facts) for name in names)


def _is_fixed(node: ast.Name, use: ast.Call, facts: FileFacts) -> bool:
    """True if a variable has one value besides ``NAME = None``, or none after the context."""
    scopes = facts.evaluator.scopes
    context = getattr(use.func, "value", use)
    at_node = scopes.places[node]
    at_use = scopes.places[use]
    owner = at_node.scope.owner(node.id)
    if at_use.scope.owner(node.id) is not owner:
        return False
    bindings = owner.bindings[node.id] if owner else []  # none for what a star import binds
    is_local = all(item.place.scope is at_use.scope for item in bindings)
    made = [(item.node, item.steps) for item in scopes.bindings(context)]
    if is_local and made == [(_creation(node, facts), ())] and _follows(at_use, at_node):
        return not any(_follows(item.place, at_node) for item in bindings)
    values = [item for item in bindings if getattr(item.node, "value", ...) is not None]
    return len(values) < 2 and not any(map(_is_of_a_loop, values))


def _creation(node: ast.expr, facts: FileFacts) -> ast.Call:
    """Return the call that creates a context with an argument."""
    return next(part for part in facts.flows.around(node) if isinstance(part, ast.Call))


def _follows(place: Place, first: Place) -> bool:
    """True if a place comes after another one in its block."""
    is_in_block = place.path[: len(first.path)] == first.path
    return place.scope is first.scope and is_in_block and place.order > first.order


def _is_of_a_loop(binding: Binding) -> bool:
    """True if a binding gives another value in each turn of a loop."""
    in_loop = any(isinstance(block, _LOOPS) for block, _ in binding.place.path)
    return in_loop or binding.steps[:1] == (None,)

"""Move the model of an ``InferContext``, its version and options to the requests.

That needs expressions that have equal values at the context and at each request. Else the file
gets objects that know their models: ``InferModel`` of the helpers.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Mapping

from tritonclient_shim.migrate.patterns import PARAMETERS, arguments
from tritonclient_shim.rewrite.calls import call_arguments
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import CLOSING, Group
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.repeating import same_at
from tritonclient_shim.rewrite.rules.protocols import protocol_of

_Arguments = Mapping[str, ast.expr]
_ASKING = frozenset(
    ("get_stat", "get_last_request_id")
    + ("get_last_request_model_name", "get_last_request_model_version")
)
_STARTING = frozenset({"async_run", "async_run_with_cb"})
_WITHOUT_MODEL = frozenset(
    ("get_async_run_results", "get_ready_async_request", "__enter__", *CLOSING)
    + ("get_stat", "get_last_request_model_version")
)
#: Class of objects → the ids that need it. A later class has the methods of all earlier classes.
_CLASSES: Mapping[str, frozenset[str]] = {
    "InferModel": frozenset(("TS058", "TS102")),
    "ClassModel": frozenset(("TS063",)),
    "FullModel": frozenset(
        ("TS052", "TS053", "TS054", "TS055", "TS056", "TS057", "TS059", "TS060", "TS061")
    ),
    "RegionModel": frozenset(("TS081", "TS086", "TS114", "TS115")),
}


#: Uses of streams and sequences: arguments of contexts and requests, and the getter of the id.
_SEQUENCES = frozenset(("TS104", "TS105", "TS110", "TS111", "TS058"))


@dataclass(frozen=True)
class Carried:
    """How the requests of a group of contexts know their model."""

    group: Group
    draft: Draft

    @property
    def name_node(self) -> ast.expr:
        """Return the expression for the model's name at the creation of the first context."""
        return self._first["model_name"]

    def name(self) -> str:
        """Return the expression for the model's name."""
        known, node = self.draft.constant(self.name_node), self.name_node
        plain = known is ... or isinstance(node, (ast.Name, ast.Constant))
        return self.draft.text(node) if plain else repr(known)

    def options(self) -> dict[str, str]:
        """Return the expression for each parameter of ``infer``."""
        return options_of(self._first, self.draft)

    @property
    def starts(self) -> bool:
        """True if the program sends asynchronous requests."""
        return any(getattr(call.func, "attr", "") in _STARTING for call in self.group.calls)

    @property
    def asks(self) -> bool:
        """True if the program reads data of the last request."""
        return any(getattr(call.func, "attr", "") in _ASKING for call in self.group.calls)

    @property
    def shared(self) -> bool:
        """True if several threads may use the client. HTTP clients are not thread-safe."""
        return self.starts or self.draft.has_threads

    @property
    def is_visible(self) -> bool:
        """True if each use of the contexts can repeat their arguments.

        Sequences and streams need an object that checks ids and flags and knows the stream.
        """
        calls = {*self.group.creations, *self.group.calls}
        if any(site.id in _SEQUENCES and site.call in calls for site in self.draft.sites):
            return False
        arguments = [call_arguments(PARAMETERS["TS050"], call) for call in self.group.creations]
        parameters = ("model_name", "model_version")
        return all(_repeatable(name, self.group, self.draft, arguments) for name in parameters)

    @property
    def _first(self) -> _Arguments:
        return call_arguments(PARAMETERS["TS050"], self.group.creations[0])


def object_class(draft: Draft) -> str:
    """Return the class of the objects that know their models."""
    ids = {site.id for site in draft.sites}
    plain = "GrpcModel" if draft.options.unsafe and is_over_grpc(draft) else "InferModel"
    return [plain, *(name for name, own in _CLASSES.items() if own & ids)][-1]


def is_over_grpc(draft: Draft) -> bool:
    """True if each context of a file speaks gRPC."""
    calls = {call for group in draft.flows.groups for call in group.creations}
    chosen = [arguments(("url", "protocol"), call).get("protocol") for call in calls]
    try:
        protocols = {protocol_of(node, draft) for node in chosen if node} or {draft.options.to}
    except Refused:
        return False
    return protocols == {"grpc"}


def carried(group: Group, draft: Draft) -> Carried:
    """Return how the requests of a group know their model. Raise Refused if none is named."""
    for call in group.creations:
        if "model_name" not in call_arguments(PARAMETERS["TS050"], call):
            raise Refused("the model's name is not among the arguments")
    return Carried(group, draft)


def options_of(arguments: _Arguments, draft: Draft) -> dict[str, str]:
    """Return the options of each request, from the arguments of its context."""
    options = {}
    version = arguments.get("model_version")
    known = draft.constant(version)
    if known is ...:
        assert version is not None
        draft.need("version_text")
        options["model_version"] = f"{draft.called('version_text')}({draft.text(version)})"
    elif isinstance(known, int) and int(known) >= 0:
        options["model_version"] = f'"{int(known)}"'
    return options


def _repeatable(name: str, group: Group, draft: Draft, arguments: list[_Arguments]) -> bool:
    nodes = [context.get(name) for context in arguments]
    texts = {node and draft.text(node) for node in nodes}
    constants = [draft.constant(node) for node in nodes]
    literal = all(isinstance(node, ast.Constant) or node is None for node in nodes)
    if ... not in constants and len({repr(known) for known in constants}) == 1 and literal:
        return True
    if len(texts) != 1 or nodes[0] is None:
        return False
    uses = [call for call in group.calls if getattr(call.func, "attr", "") not in _WITHOUT_MODEL]
    return all(
        getattr(use.func, "value", None) is call or same_at(node, use, draft)
        for node, call in zip(nodes, group.creations)
        for use in uses
        if node is not None
    )

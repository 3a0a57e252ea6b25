"""TS020, TS025, TS030, TS035, TS040, TS050 (and TS101 to TS106): a context → a client.

Or an ``InferContext`` → an object that knows its model, whose methods (TS051 to TS061) have their
old names.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Iterator, Mapping, Sequence

from tritonclient_shim.migrate.decisions import Decisions, Plan, Refused, Rewrite
from tritonclient_shim.migrate.edits import (
    Define,
    Edit,
    Import,
    NewCall,
    NewText,
    Part,
    Replace,
    listed,
    new_text,
    replaced,
)
from tritonclient_shim.migrate.facts import HIDDEN_ARGUMENTS, FileFacts, hides_arguments
from tritonclient_shim.migrate.flows import Group
from tritonclient_shim.migrate.rules.infer import refused_arrays
from tritonclient_shim.migrate.rules.lines import client_module
from tritonclient_shim.migrate.rules.models import (
    CLASS,
    Contexts,
    Form,
    context_arguments,
    parameters_of,
)
from tritonclient_shim.migrate.rules.names import (
    PROTOCOLS,
    is_protocol,
    protocol_of,
    written_protocol,
)
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.sites import arguments as known_arguments

#: v1's requests had no timeout; tritonclient.http has one of 60 seconds.
_TIMEOUTS = ("connection_timeout=300", "network_timeout=86400")
_ERROR_IMPORT = "from tritonclient.utils import InferenceServerException"
_LABELS = {"grpc": "gRPC", "http": "HTTP"}
_NO_HEADERS: tuple[object, ...] = (None, False, "", [], ())


@dataclass(frozen=True)
class ClientPlan(Plan):
    """A client in place of a context, or of an object that has the client.

    ``id``: that of the context's constructor. ``protocol``: '' if the program chooses.
    """

    call: ast.Call
    id: str
    protocol: str
    contexts: Contexts
    facts: FileFacts

    @property
    def protocols(self) -> frozenset[str]:
        """Return the protocols that the client may speak."""
        return frozenset([self.protocol] if self.protocol else PROTOCOLS)

    @property
    def headers(self) -> ast.expr | None:
        """Return the headers that the client sends; None for none. v1 sent none over gRPC."""
        headers = self._arguments.get("http_headers")
        is_none = self.facts.constant(headers) in _NO_HEADERS
        return None if is_none or self.protocol == "grpc" else headers

    @property
    def model(self) -> Contexts | None:
        """Return the contexts if they become objects that know their model."""
        return self.contexts if self.contexts.form is Form.OBJECT else None

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edits that make the client, and the object around it."""
        edits = list(errors_of_processes(self.facts))
        if self._scheme and self._function(decisions) != "http_client":
            edits.append(replaced(self._arguments["url"], "{0}", self.facts.quoted(self._address)))
        if self.contexts.form is Form.CLIENT:
            return [*edits, Replace(self.call, self._client(decisions)), *self._model_check()]
        return [*edits, *self._object(decisions)]

    @property
    def _arguments(self) -> Mapping[str, ast.expr]:
        return context_arguments(self.call, self.id, self.facts)

    @property
    def _written_url(self) -> str:
        """Return the url that is written in the call; '' for none."""
        url = self._arguments["url"]
        return str(url.value) if isinstance(url, ast.Constant) else ""

    @property
    def _scheme(self) -> str:
        return self._written_url.rpartition("://")[0]

    @property
    def _address(self) -> str:
        """Return the url that is written in the call, without its scheme."""
        return self._written_url.rpartition("://")[2]

    def _function(self, decisions: Decisions) -> str:
        """Return the helper that makes the client; '' for tritonclient's class."""
        if not self.protocol:
            return "connect"
        if self.protocol == "grpc":
            return ""
        # a url from elsewhere may have a scheme
        has_written_url = bool(self._written_url)
        needs_more = decisions.shares_clients or self.facts.catches_errors or not has_written_url
        return "http_client" if needs_more or self.headers is not None else ""

    def _client(self, decisions: Decisions) -> NewText | NewCall:
        """Return the text of the client."""
        arguments = self._arguments
        function = self._function(decisions)
        kept = {"url": ""}
        if self.facts.constant(arguments.get("verbose")) not in (None, False, 0, ""):
            kept["verbose"] = "verbose"
        after: list[Part] = []
        if self._scheme in ("https", "grpcs") and function != "http_client":
            after.append("ssl=True")
        if self.protocol == "http" and not function:
            after += _TIMEOUTS
        if self.headers is not None and function:
            after.append(new_text("headers={0}", self.headers))
        made: Part = new_text(f"{{{function}}}")
        if not function:
            made = new_text("{0}.InferenceServerClient", client_module(self.protocol))
        return NewCall(
            self.call,
            made,
            names=parameters_of(self.call, self.id, self.facts),
            kept=kept,
            before=() if self.protocol else (self._chosen_protocol(decisions),),
            after=tuple(after),
        )

    def _chosen_protocol(self, decisions: Decisions) -> Part:
        """Return the name of the protocol, where the program may have v1's number."""
        protocol = self._arguments["protocol"]
        values = self.facts.evaluator.of(protocol)
        is_name = values and all(map(is_protocol, values)) and not decisions.protocols_stay
        return protocol if is_name else new_text("{protocol_of}({0})", protocol)

    def _model_check(self) -> list[Edit]:
        """Ask for the model where the error of v1's constructor may matter, before any request."""
        facts = self.facts
        call = self.call
        if self.contexts.group.kind != CLASS.name:
            return []
        name = facts.text(self._arguments["model_name"])
        if isinstance(facts.flows.parents[call], ast.Expr):
            return [replaced(call, "{old}.get_model_config({0})", name)]
        # a handler of the program would take an error of the first request for another one
        may_matter = facts.catches_errors or facts.is_tried(call) or facts.beside.linked
        if may_matter or not self.contexts.sends:
            return [replaced(call, "{with_model}({old}, {0})", name)]
        return []

    def _object(self, decisions: Decisions) -> list[Edit]:
        """Return the edits for an object that knows its model."""
        facts = self.facts
        call = self.call
        own_model = Contexts(Group(self.contexts.group.kind, (call,)), facts)
        is_unbound = parameters_of(call, "TS050", facts)[0] == "self"
        arguments: list[Part] = [call.args[0]] if is_unbound else []
        arguments += [self._client(decisions), own_model.name()]
        for name, value in own_model.options().items():
            arguments.append(new_text("{0}={1}", name, value))
        new_object = replaced(call, "{0}({1})", call.func, listed(arguments))
        return [*placed_class(call.func, facts), new_object]


@dataclass(frozen=True)
class ByArgumentsPlan(ClientPlan):
    """An object by the arguments of its context, some of which ``*`` or ``**`` hides."""

    @property
    def headers(self) -> ast.expr:
        """Return the call: it may give headers."""
        return self.call

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edit of the function. The arguments stay."""
        return [*errors_of_processes(self.facts), replaced(self.call.func, "{infer_model}")]


def _by_arguments(call: ast.Call, facts: FileFacts, contexts: Contexts, id: str) -> Plan:
    """Return the plan for a context whose arguments are hidden."""
    has_regions = facts.has("TS081", "TS086") or facts.beside.has_regions
    is_unbound = parameters_of(call, id, facts)[0] == "self"
    if contexts.group.kind != CLASS.name or is_unbound or has_regions or contexts.starts:
        raise Refused(HIDDEN_ARGUMENTS)
    protocol = known_arguments(PARAMETERS[id], call).get("protocol")
    unsafe = [*_unsafe_object(facts)] if contexts.escapes else []
    if not facts.evaluator.of(protocol):
        unsafe.append(UnsafeChange.CONNECT)
    what = "infer_model(…), with the arguments of the context"
    return ByArgumentsPlan(what, tuple(unsafe), call, id, "", contexts, facts)


def client(call: ast.Call, facts: FileFacts, contexts: Contexts, id: str) -> Plan:
    """Return the plan for a client instead of a context, or an object that has the client."""
    if hides_arguments(call):
        return _by_arguments(call, facts, contexts, id)
    arguments = context_arguments(call, id, facts)
    protocol = protocol_of(arguments["protocol"], facts)
    is_client = contexts.form is Form.CLIENT
    what = f"{protocol or 'grpc or http'} client" if is_client else contexts.form.value
    if protocol and not written_protocol(arguments["protocol"], facts):
        what += f"; it speaks {_LABELS[protocol]} now: check the address"
    if facts.constant(arguments.get("streaming")) not in (None, False, 0):
        what += "; no stream is opened"
    unsafe = [*_unsafe_object(facts)] if contexts.escapes else []
    if not protocol and not facts.evaluator.of(arguments["protocol"]):
        unsafe.append(UnsafeChange.CONNECT)
    return ClientPlan(what, tuple(unsafe), call, id, protocol, contexts, facts)


def errors_of_processes(facts: FileFacts) -> Iterator[Edit]:
    """Yield the statement by which processes can send errors of requests to each other.

    A pool of processes waits for ever for an error that it cannot make again.
    """
    if facts.has_processes:
        modules = Import("import copyreg"), Import(_ERROR_IMPORT)
        yield Define("error_parts", new_text("{0}.pickle({1}, {error_parts})", *modules))


def placed_class(node: ast.AST, facts: FileFacts) -> list[Edit]:
    """Replace v1's class, or its method, by the class of the objects."""
    while isinstance(node, ast.Attribute) and CLASS not in facts.evaluator.of(node):
        node = node.value
    if isinstance(node, (ast.Name, ast.Attribute)) and CLASS in facts.evaluator.of(node):
        return [replaced(node, "{InferModel}")]
    return []


@dataclass(frozen=True)
class ClassPlan(Rewrite):
    """The class of objects in place of v1's. Other code makes their clients."""

    to: str = ""  # the protocol of all clients, if --to gives one

    @property
    def protocols(self) -> frozenset[str]:
        """Return the protocols that the clients may speak."""
        return frozenset([self.to] if self.to else PROTOCOLS)


def class_itself(node: ast.AST, facts: FileFacts) -> Plan:
    """Return the plan for the class as a base, in an annotation, or as a value."""
    edits = placed_class(node, facts)
    if "_ctx" not in facts.evaluator.scopes.attributes:
        for read in ast.walk(facts.source.tree):
            if isinstance(read, ast.Attribute) and read.attr == "_ctx":  # None after close()
                edits.append(replaced(read, "{0}.client", read.value))
    unsafe = _unsafe_object(facts)
    return ClassPlan("the class InferModel", unsafe, tuple(edits), facts.options.to)


def _unsafe_object(facts: FileFacts) -> tuple[UnsafeChange, ...]:
    """Return what a program may notice of an object that other code gets, or makes."""
    return (UnsafeChange.OBJECT, *refused_arrays(facts))

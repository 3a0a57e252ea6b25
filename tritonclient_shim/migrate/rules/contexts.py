"""TS020, TS025, TS030, TS035, TS040, TS050 (and TS101 to TS106): a context → a client.

Or an ``InferContext`` → an object that knows its model, whose methods (TS051 to TS061) have their
old names.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Mapping, Sequence

from tritonclient_shim.migrate.decisions import Decisions, Plan, Rewrite
from tritonclient_shim.migrate.edits import (
    Above,
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
from tritonclient_shim.migrate.facts import FileFacts
from tritonclient_shim.migrate.flows import Group
from tritonclient_shim.migrate.rules.infer import function_of, refused_arrays
from tritonclient_shim.migrate.rules.lines import client_module
from tritonclient_shim.migrate.rules.models import (
    CLASS,
    Contexts,
    Form,
    context_arguments,
    parameters_of,
)
from tritonclient_shim.migrate.rules.names import PROTOCOLS, protocol_of, written_protocol
from tritonclient_shim.migrate.unsafe import UnsafeChange

#: v1's requests had no timeout; tritonclient.http has one of 60 seconds.
_TIMEOUTS = ("connection_timeout=300", "network_timeout=86400")
_LABELS = {"grpc": "gRPC", "http": "HTTP"}
#: The helpers with a parameter for headers, beside ``connect`` for threads.
_WITH_HEADERS = ("http_client", "ThreadClient")
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
        """Return the headers that the client sends; None for none."""
        headers = self._arguments.get("http_headers")
        return None if self.facts.constant(headers) in _NO_HEADERS else headers

    def edits(self, decisions: Decisions) -> Sequence[Edit]:
        """Return the edits that make the client, and the object around it."""
        edits: list[Edit] = []
        if self._scheme:
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

    @property
    def _function(self) -> str:
        """Return the helper that makes the client; '' for tritonclient's class."""
        if not self.protocol:
            return "connect"
        if self.protocol == "http" and self.contexts.shared:
            return "ThreadClient"
        if self.protocol == "http" and not self._written_url:  # it may have a scheme
            return "http_client"
        return ""

    def _client(self, decisions: Decisions) -> NewText | NewCall:
        """Return the text of the client."""
        arguments = self._arguments
        function = self._function
        kept = {"url": ""}
        if self.facts.constant(arguments.get("verbose")) not in (None, False, 0, ""):
            kept["verbose"] = "verbose"
        after: list[Part] = ["ssl=True"] if self._scheme in ("https", "grpcs") else []
        if self.protocol == "http" and not function:
            after += _TIMEOUTS
        is_connect = function == "connect" and decisions.shares_clients
        takes_headers = is_connect or function in _WITH_HEADERS
        if self.headers is not None and takes_headers:
            after.append(new_text("headers={0}", self.headers))
        made: Part = new_text(f"{{{function}}}")
        if not function:
            made = self._class()
        new: NewText | NewCall = NewCall(
            self.call,
            made,
            names=parameters_of(self.call, self.id, self.facts),
            kept=kept,
            before=() if self.protocol else (arguments["protocol"],),
            after=tuple(after),
        )
        if self.headers is not None and not takes_headers:
            new = new_text("{with_headers}({0}, {1})", new, self.headers)
        return new_text("{AskedClient}({0})", new) if self.contexts.asks else new

    def _class(self) -> NewText:
        """Return the class of the client."""
        if self.protocol == "http" and self.facts.catches_errors:
            return new_text("{HttpClient}")
        return new_text("{0}.InferenceServerClient", client_module(self.protocol))

    def _model_check(self) -> list[Edit]:
        """Ask for the model where the error of v1's constructor may matter, before any request."""
        facts = self.facts
        call = self.call
        if self.contexts.group.kind != CLASS.name:
            return []
        name = facts.text(self._arguments["model_name"])
        if isinstance(facts.flows.parents[call], ast.Expr):
            return [replaced(call, "{old}.get_model_config({0})", name)]
        if facts.is_tried(call) or facts.beside.linked or not self.contexts.sends:
            return [replaced(call, "{with_model}({old}, {0})", name)]
        return []

    def _object(self, decisions: Decisions) -> list[Edit]:
        """Return the edits for a client with its model."""
        facts = self.facts
        call = self.call
        contexts = self.contexts
        edits: list[Edit] = []
        if contexts.form is Form.OBJECT:
            edits += placed_class(call.func, facts)
        own_model = Contexts(Group(contexts.group.kind, (call,)), facts)
        client: Part = self._client(decisions)
        variable = contexts.client(getattr(facts.flows.parents[call], "targets", [call])[0])
        is_checked = contexts.form is Form.PARTIAL and facts.is_tried(call)
        if variable or is_checked:
            variable = variable or facts.free_name("client")
            statement = facts.layout.statement(call)
            edits.append(Above(statement, new_text("{0} = {1}", variable, client)))
            if is_checked:
                check = new_text("{0}.get_model_config({1})", variable, own_model.name())
                edits.append(Above(statement, check))
            client = variable
        options: list[Part] = []
        for name, value in own_model.options().items():
            options.append(new_text("{0}={1}", name, value))
        function = function_of(contexts, facts)
        if contexts.form is Form.OBJECT:
            is_unbound = parameters_of(call, "TS050", facts)[0] == "self"
            own: list[Part] = [call.args[0]] if is_unbound else []
            called: list[Part] = [] if function == "infer" else [new_text(f"{{{function}}}")]
            arguments = listed([*own, client, own_model.name(), *called, *options])
            return [*edits, replaced(call, "{0}({1})", call.func, arguments)]
        sends = listed([new_text(f"{{{function}}}"), client])
        if not decisions.calls_helper:
            sends = new_text("{0}.infer", client)
        arguments = listed([sends, own_model.name(), *options])
        partial = Import("from functools import partial")
        return [*edits, replaced(call, "{0}({1})", partial, arguments)]


def client(call: ast.Call, facts: FileFacts, contexts: Contexts, id: str) -> Plan:
    """Return the plan for a client instead of a context, or an object that has the client."""
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


def placed_class(node: ast.AST, facts: FileFacts) -> list[Edit]:
    """Replace v1's class, or its method, by the class of the objects."""
    while isinstance(node, ast.Attribute) and CLASS not in facts.evaluator.of(node):
        node = node.value
    if isinstance(node, (ast.Name, ast.Attribute)) and CLASS in facts.evaluator.of(node):
        return [replaced(node, "{InferModel}")]
    return []


@dataclass(frozen=True)
class _ClassPlan(Rewrite):
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
    return _ClassPlan("the class InferModel", unsafe, tuple(edits), facts.options.to)


def _unsafe_object(facts: FileFacts) -> tuple[UnsafeChange, ...]:
    """Return what a program may notice of an object that other code gets, or makes."""
    return (UnsafeChange.OBJECT, *refused_arrays(facts))

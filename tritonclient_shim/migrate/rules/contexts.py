"""TS020, TS025, TS030, TS035, TS040, TS050 (and TS101 to TS106): a context → a client.

Or an ``InferContext`` → an object that knows its model, whose methods (TS051 to TS061) have their
old names.
"""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.draft import Draft
from tritonclient_shim.migrate.edits import Change
from tritonclient_shim.migrate.flows import Group
from tritonclient_shim.migrate.options import Plan
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


def client(call: ast.Call, draft: Draft, contexts: Contexts, id: str) -> Plan:
    """Return the plan for a client instead of a context, or an object that has the client."""
    arguments = context_arguments(call, id, draft)
    protocol = protocol_of(arguments["protocol"], draft)
    is_client = contexts.form is Form.CLIENT

    def carry_out() -> None:
        draft.modules.update([protocol] if protocol else PROTOCOLS)
        text = _client(call, id, protocol, contexts, draft)
        if not is_client:
            text = _with_model(call, text, contexts, draft)
        draft.change(call, text)
        if contexts.group.kind == CLASS.name and is_client:
            _check_model(call, draft.text(arguments["model_name"]), contexts, draft)

    what = f"{protocol or 'grpc or http'} client" if is_client else contexts.form.value
    if protocol and not written_protocol(arguments["protocol"], draft):
        what += f"; it speaks {_LABELS[protocol]} now: check the address"
    unsafe = [*_unsafe_object(draft)] if contexts.escapes else []
    if not protocol and not draft.evaluator.of(arguments["protocol"]):
        unsafe.append(UnsafeChange.CONNECT)
    return Plan(what=what, unsafe=tuple(unsafe), also=carry_out)


def _client(call: ast.Call, id: str, protocol: str, contexts: Contexts, draft: Draft) -> Change:
    """Return what turns the text of a context into that of a client."""
    arguments, names = context_arguments(call, id, draft), parameters_of(call, id, draft)
    url, headers, after = arguments["url"], arguments.get("http_headers"), []
    known = str(url.value) if isinstance(url, ast.Constant) else ""
    scheme, _, address = known.rpartition("://")
    if scheme:
        draft.write(url, "{0}", draft.quoted(address))
        after += ["ssl=True"] if scheme in ("https", "grpcs") else []
    kept = {"url": ""}
    if draft.constant(arguments.get("verbose")) not in (None, False, 0, ""):
        kept["verbose"] = "verbose"
    sends_headers = draft.constant(headers) not in _NO_HEADERS
    function = "" if protocol else "connect"
    if protocol == "http" and contexts.shared:
        function = "ThreadClient"
    elif protocol == "http" and not known:  # it may have a scheme
        function = "http_client"
    elif protocol == "http":
        after += _TIMEOUTS
    draft.sends_headers |= sends_headers and headers is not None
    draft.connects |= not protocol
    draft.shares_clients |= contexts.shared
    # the header of the file takes those that it reads
    draft.helpers.update((function or "with_headers", "with_headers", "AskedClient"))

    def text(old: str) -> str:
        sent = draft.new(headers) if headers is not None and sends_headers else ""
        called = draft.called(function) if function else ""
        called = called or f"{client_module(protocol, draft)}.InferenceServerClient"
        before = [] if protocol else [draft.new(arguments["protocol"])]
        is_connect = function == "connect" and draft.shares_clients
        takes_headers = is_connect or function in _WITH_HEADERS
        more = [*after, f"headers={sent}"] if sent and takes_headers else after
        new = draft.edits.call_text(call, called, names, before, kept, more)
        if sent and not takes_headers:
            new = f"{draft.called('with_headers')}({new}, {sent})"
        return f"{draft.called('AskedClient')}({new})" if contexts.asks else new

    return text


def _with_model(call: ast.Call, client: Change, contexts: Contexts, draft: Draft) -> Change:
    """Return what turns the text of a context into a client with its model."""
    is_unbound = parameters_of(call, "TS050", draft)[0] == "self"
    function = function_of(contexts, draft)
    if contexts.form is Form.OBJECT:
        place_class(call.func, draft)
    if function != "infer" or contexts.form is not Form.OBJECT:
        draft.helpers.add(function)
    own_model = Contexts(Group(contexts.group.kind, [call]), draft)
    variable = contexts.client(getattr(draft.flows.parents[call], "targets", [call])[0])
    is_checked = contexts.form is Form.PARTIAL and draft.is_tried(call)
    if variable or is_checked:
        variable = variable or draft.called("client")
        above = draft.edits.before[draft.edits.statement(call)]
        above.append(lambda: f"{variable} = {client('')}")
        above += [f"{variable}.get_model_config({own_model.name()})"] if is_checked else []

    def text(old: str) -> str:
        options = [f"{name}={value}" for name, value in own_model.options().items()]
        called, own_client, name = draft.called(function), variable or client(old), own_model.name()
        if contexts.form is not Form.OBJECT:
            sends = f"{called}, {own_client}" if draft.calls_infer else f"{own_client}.infer"
            function_partial = draft.imported("from functools import partial")
            return f"{function_partial}({', '.join([sends, name, *options])})"
        own = [draft.new(call.args[0])] if is_unbound else []
        options = options if function == "infer" else [called, *options]
        return f"{draft.new(call.func)}({', '.join([*own, own_client, name, *options])})"

    return text


def place_class(node: ast.AST, draft: Draft) -> None:
    """Replace v1's class, or its method, by the class of the objects."""
    while isinstance(node, ast.Attribute) and CLASS not in draft.evaluator.of(node):
        node = node.value
    if isinstance(node, (ast.Name, ast.Attribute)) and CLASS in draft.evaluator.of(node):
        draft.write(node, "{InferModel}")


def class_itself(node: ast.AST, draft: Draft) -> Plan:
    """Return the plan for the class as a base, in an annotation, or as a value."""

    def carry_out() -> None:
        place_class(node, draft)
        draft.modules.update([draft.options.to] if draft.options.to else PROTOCOLS)
        if "_ctx" in draft.evaluator.scopes.attributes:
            return
        for read in ast.walk(draft.source.tree):
            if isinstance(read, ast.Attribute) and read.attr == "_ctx":  # None after close()
                draft.write(read, "{0}.client", read.value)

    return Plan(what="the class InferModel", unsafe=_unsafe_object(draft), also=carry_out)


def _unsafe_object(draft: Draft) -> tuple[UnsafeChange, ...]:
    """Return what a program may notice of an object that other code gets, or makes."""
    return (UnsafeChange.OBJECT, *refused_arrays(draft))


def _check_model(call: ast.Call, name: str, contexts: Contexts, draft: Draft) -> None:
    """Ask for the model where the error of v1's constructor may matter, before any request."""
    if isinstance(draft.flows.parents[call], ast.Expr):
        draft.write(call, "{old}.get_model_config({0})", name)
    elif draft.is_tried(call) or draft.beside.linked or not contexts.sends:
        draft.write(call, "{with_model}({old}, {0})", name)

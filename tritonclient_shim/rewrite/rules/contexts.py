"""TS020, TS025, TS030, TS035, TS040, TS050 (and TS101 to TS106): a context → a client."""

from __future__ import annotations

import ast
from typing import Mapping

import libcst as cst

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.patterns import PARAMETERS, arguments
from tritonclient_shim.migrate.values import Symbol
from tritonclient_shim.rewrite.calls import COMMA, TIGHT, NewCall, given, named
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused, State
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import PROTOCOLS, protocol_of

INFER = Symbol(f"{API}.InferContext")
_SCHEMES = {"http://": "", "grpc://": "", "https://": "ssl=True", "grpcs://": "ssl=True"}
_NO_HEADERS: tuple[object, ...] = (None, "", [], ())


def client(id: str, call: ast.Call, draft: Draft, carried: Carried | None = None) -> Plan:
    """Return the client that takes the place of a context."""
    names = PARAMETERS[id]
    arguments = given(names, call)
    if "url" not in arguments or "protocol" not in arguments:
        raise Refused("expected a url and a protocol")
    protocol = protocol_of(arguments["protocol"], draft)

    def change(old: cst.Call) -> cst.BaseExpression:
        return _changed(old, names, protocol, arguments, draft, carried)

    def carry_out() -> None:
        draft.modules.update([protocol] if protocol else PROTOCOLS)
        draft.change(call, change)
        if protocol:
            _gone(arguments["protocol"], draft)
        _check_model(call, arguments, draft, carried)

    return Plan(carry_out, f"{protocol or 'grpc or http'} client")


def _gone(argument: ast.expr, draft: Draft) -> None:
    """Note that a left out argument takes with it what no rule rewrites in it."""
    inside = set(ast.walk(argument))
    for site in draft.sites:
        outcome = draft.outcome(site) if site.node in inside else None
        if outcome and outcome.todo:
            draft.note(site.node, State.SAFE, "gone with the argument")


def _changed(
    old: cst.Call,
    names: tuple[str, ...],
    protocol: str,
    arguments: Mapping[str, ast.expr],
    draft: Draft,
    carried: Carried | None,
) -> cst.BaseExpression:
    after = []
    url = arguments["url"]
    known = url.value if isinstance(url, ast.Constant) else None
    scheme = next((item for item in _SCHEMES if str(known).startswith(item)), "")
    if _SCHEMES.get(scheme):
        after.append(_SCHEMES[scheme])
    kept = {"url": ""}
    verbose = arguments.get("verbose")
    if verbose is not None and draft.constant(verbose) not in (None, False, 0, ""):
        kept["verbose"] = "verbose"
    old_arguments = named(names, old)
    new = NewCall(
        names, "", [], kept, list(after), _class(protocol, old_arguments["protocol"], draft)
    )
    result = new(old)
    if scheme:
        plain = cst.SimpleString(repr(str(known)[len(scheme) :]))
        result = result.with_changes(
            args=[result.args[0].with_changes(value=plain), *result.args[1:]]
        )
    headers = arguments.get("http_headers")
    sent = None if draft.constant(headers) in _NO_HEADERS else old_arguments["http_headers"]
    if carried and carried.shared and protocol != "grpc":
        result = _connected(result, sent, draft)
    elif sent is not None:
        result = _with_headers(result, sent, draft)
    if carried and carried.asks:
        draft.need("RememberingClient")
        result = cst.Call(cst.Name(draft.called("RememberingClient")), [cst.Arg(result)])
    return result


def model_object(call: ast.Call, draft: Draft) -> Plan:
    """Return the object that takes the place of a context whose uses do not see its model."""
    names = PARAMETERS["TS050"]
    expressions = arguments(names, call)
    url, chosen = expressions.get("url"), expressions.get("protocol")
    if isinstance(url, ast.Constant) and str(url.value).startswith(("https://", "grpcs://")):
        raise Refused("make the client with ssl=True")
    try:
        protocol = protocol_of(chosen, draft) if chosen is not None else ""
    except Refused:  # chosen elsewhere: the object takes v1's numbers and names
        protocol = ""

    def carry_out() -> None:
        draft.need(draft.object_class)
        draft.modules.update(PROTOCOLS)
        place_class(call.func, draft)
        if protocol and isinstance(chosen, (ast.Name, ast.Attribute, ast.Call)):
            draft.replace(chosen, f'"{protocol}"')
            _gone(chosen, draft)

    return Plan(carry_out, f"{draft.object_class}(url, protocol, model_name, …)")


def place_class(node: ast.AST, draft: Draft) -> None:
    """Put the class of the objects in the place of v1's, or of its method."""
    while isinstance(node, ast.Attribute) and INFER not in draft.evaluator.of(node):
        node = node.value
    if isinstance(node, (ast.Name, ast.Attribute)) and INFER in draft.evaluator.of(node):
        draft.need(draft.object_class)
        draft.replace(node, draft.object_class)


def _with_headers(client: cst.Call, headers: cst.Arg, draft: Draft) -> cst.Call:
    """Return the client, sending headers with each request."""
    draft.need("with_headers")
    arguments = [cst.Arg(client, comma=COMMA), cst.Arg(headers.value)]
    return cst.Call(cst.Name(draft.called("with_headers")), arguments)


def _class(protocol: str, chosen: cst.Arg, draft: Draft) -> cst.BaseExpression:
    if protocol:
        return draft.edits.expression(f"{protocol}client.InferenceServerClient")
    draft.need("CLIENTS")
    module = cst.Subscript(
        cst.Name(draft.called("CLIENTS")), [cst.SubscriptElement(cst.Index(chosen.value))]
    )
    return cst.Attribute(module, cst.Name("InferenceServerClient"))


def _check_model(
    call: ast.Call, arguments: Mapping[str, ast.expr], draft: Draft, carried: Carried | None
) -> None:
    """Ask for the model where an error is expected: the constructor of a context did so."""
    if carried is None:
        return
    parent, name = draft.flows.parents[call], draft.text(arguments["model_name"])
    if isinstance(parent, ast.Expr):
        draft.need("check_model")
        draft.change(call, lambda old: _checked(old, name, draft))
    elif isinstance(parent, ast.Assign) and draft.is_tried(call):
        draft.need("check_model")
        target = draft.text(parent.targets[0])
        draft.edits.after[draft.statement(call)].append(
            f"{draft.called('check_model')}({target}, {name})"
        )


def _checked(old: cst.BaseExpression, name: str, draft: Draft) -> cst.Call:
    arguments = draft.edits.expression(f"f(x, {name})")
    assert isinstance(arguments, cst.Call)
    args = [arguments.args[0].with_changes(value=old), arguments.args[1]]
    return cst.Call(cst.Name(draft.called("check_model")), args)


def _connected(client: cst.Call, headers: cst.Arg | None, draft: Draft) -> cst.Call:
    """Return a client for several threads: over HTTP each thread needs its own."""
    draft.need("connect")
    assert isinstance(client.func, cst.Attribute)
    arguments = [cst.Arg(client.func.value, comma=COMMA), *client.args]
    if headers is not None:
        arguments[-1] = arguments[-1].with_changes(comma=COMMA)
        arguments.append(cst.Arg(headers.value, cst.Name("headers"), TIGHT))
    return client.with_changes(func=cst.Name(draft.called("connect")), args=arguments)

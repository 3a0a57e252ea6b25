"""TS020, TS025, TS030, TS035, TS040, TS050 (and TS101 to TS106): a context → a client."""

from __future__ import annotations

import ast
from typing import Mapping

import libcst as cst

from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import COMMA, TIGHT, NewCall, given, named
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused, State
from tritonclient_shim.rewrite.rules.models import Carried, options_of, stream_of
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import PROTOCOLS, protocol_of

_SCHEMES = {"http://": "", "grpc://": "", "https://": "ssl=True", "grpcs://": "ssl=True"}
_NO_HEADERS: tuple[object, ...] = (None, "", [], ())


def client(id: str, call: ast.Call, draft: Draft, carried: Carried | None = None) -> Plan:
    """The client that takes the place of a context."""
    names = PARAMETERS[id]
    made = given(names, call)
    if "url" not in made or "protocol" not in made:
        raise Refused("expected a url and a protocol")
    protocol = protocol_of(made["protocol"], draft)

    def change(old: cst.Call) -> cst.BaseExpression:
        made_now = _changed(old, names, protocol, made, draft, carried)
        draft.clients[made_now] = call
        return made_now

    def carry_out() -> None:
        draft.modules.update([protocol] if protocol else PROTOCOLS)
        draft.change(call, change)
        if protocol:
            _gone(made["protocol"], draft)
        _check_model(call, made, draft, carried)

    return Plan(carry_out, f"{protocol or 'grpc or http'} client")


def _gone(argument: ast.expr, draft: Draft) -> None:
    """An argument that is left out takes with it what no rule rewrites in it."""
    inside = set(ast.walk(argument))
    for site in draft.sites:
        outcome = draft.outcome(site) if site.node in inside else None
        if outcome and outcome.todo:
            draft.note(site.node, State.SAFE, "gone with the argument")


def _changed(
    old: cst.Call,
    names: tuple[str, ...],
    protocol: str,
    made: Mapping[str, ast.expr],
    draft: Draft,
    carried: Carried | None,
) -> cst.BaseExpression:
    after = []
    url = made["url"]
    known = url.value if isinstance(url, ast.Constant) else None
    scheme = next((one for one in _SCHEMES if str(known).startswith(one)), "")
    if _SCHEMES.get(scheme):
        after.append(_SCHEMES[scheme])
    kept = {"url": ""}
    verbose = made.get("verbose")
    if verbose is not None and draft.constant(verbose) not in (None, False, 0, ""):
        kept["verbose"] = "verbose"
    arguments = named(names, old)
    new = NewCall(names, "", [], kept, list(after), _class(protocol, arguments["protocol"], draft))
    result = new(old)
    if scheme:
        plain = cst.SimpleString(repr(str(known)[len(scheme) :]))
        result = result.with_changes(
            args=[result.args[0].with_changes(value=plain), *result.args[1:]]
        )
    headers = made.get("http_headers")
    sent = None if draft.constant(headers) in _NO_HEADERS else arguments["http_headers"]
    if carried and carried.shared and protocol != "grpc":
        result = _connected(result, sent, draft)
    elif sent is not None:
        result = _with_headers(result, sent, draft)
    if carried and carried.asks:
        draft.need("RememberingClient")
        result = cst.Call(cst.Name(draft.called("RememberingClient")), [cst.Arg(result)])
    if carried and carried.record:
        return _record(result, arguments["model_name"], made, draft, carried)
    return result


def _with_headers(client: cst.Call, headers: cst.Arg, draft: Draft) -> cst.Call:
    """The client, sending headers with each request."""
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


def _record(
    client: cst.Call,
    name: cst.Arg,
    made: Mapping[str, ast.expr],
    draft: Draft,
    carried: Carried,
) -> cst.BaseExpression:
    draft.need("Model")
    pairs = ", ".join(f'"{key}": {value}' for key, value in options_of(made, draft).items())
    texts = [f"{{{pairs}}}"] if pairs else []
    stream = stream_of(made, draft) if carried.starts else ""
    texts += [f"stream={stream}"] if stream else []
    call = draft.edits.expression(f"{draft.called('Model')}({', '.join(['x', 'x', *texts])})")
    assert isinstance(call, cst.Call)
    first, second = (
        one.with_changes(value=value) for one, value in zip(call.args, (client, name.value))
    )
    return call.with_changes(args=[first, second, *call.args[2:]])


def _check_model(
    call: ast.Call, made: Mapping[str, ast.expr], draft: Draft, carried: Carried | None
) -> None:
    """A context asked for its model when it was made; where an error is expected, that is kept."""
    if carried is None:
        return
    parent, name = draft.flows.parents[call], draft.text(made["model_name"])
    if isinstance(parent, ast.Expr):
        draft.need("check_model")
        draft.change(call, lambda old: _checked(old, name, carried.record, draft))
    elif isinstance(parent, ast.Assign) and draft.is_tried(call):
        draft.need("check_model")
        target = draft.text(parent.targets[0]) + (".client" if carried.record else "")
        draft.edits.after[draft.statement(call)].append(
            f"{draft.called('check_model')}({target}, {name})"
        )


def _checked(old: cst.BaseExpression, name: str, record: bool, draft: Draft) -> cst.Call:
    client = cst.Attribute(old, cst.Name("client")) if record else old
    arguments = draft.edits.expression(f"f(x, {name})")
    assert isinstance(arguments, cst.Call)
    args = [arguments.args[0].with_changes(value=client), arguments.args[1]]
    return cst.Call(cst.Name(draft.called("check_model")), args)


def _connected(client: cst.Call, headers: cst.Arg | None, draft: Draft) -> cst.Call:
    """A client for several threads, each of which needs its own over HTTP."""
    draft.need("connect")
    assert isinstance(client.func, cst.Attribute)
    arguments = [cst.Arg(client.func.value, comma=COMMA), *client.args]
    if headers is not None:
        arguments[-1] = arguments[-1].with_changes(comma=COMMA)
        arguments.append(cst.Arg(headers.value, cst.Name("headers"), TIGHT))
    return client.with_changes(func=cst.Name(draft.called("connect")), args=arguments)

"""TS020, TS025, TS030, TS035, TS040, TS050 (and TS101 to TS106): a context → a client.

Or an ``InferContext`` → an object that knows its model, whose methods (TS051 to TS061) have their
old names.
"""

from __future__ import annotations

import ast
from typing import Iterable, Mapping

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.patterns import PARAMETERS, arguments
from tritonclient_shim.migrate.values import Symbol
from tritonclient_shim.rewrite.calls import call_arguments, call_text
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused, State
from tritonclient_shim.rewrite.rules.infer import check_forms
from tritonclient_shim.rewrite.rules.methods import UNMEASURED, UNNUMBERED
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.protocols import PROTOCOLS, protocol_of

INFER = Symbol(f"{API}.InferContext")
_SCHEMES = {"http://": "", "grpc://": "", "https://": "ssl=True", "grpcs://": "ssl=True"}
_REQUESTS = frozenset({"TS051", "TS052", "TS053", "TS054"})
_UNSAFE = {"get_stat": UNMEASURED, "get_last_request_id": UNNUMBERED}
_NO_HEADERS: tuple[object, ...] = (None, "", [], ())


def client(id: str, call: ast.Call, draft: Draft, carried: Carried | None = None) -> Plan:
    """Return the plan for a client instead of a context."""
    names = PARAMETERS[id]
    arguments = call_arguments(names, call)
    if "url" not in arguments or "protocol" not in arguments:
        raise Refused("expected a url and a protocol")
    protocol = protocol_of(arguments["protocol"], draft)

    def carry_out() -> None:
        draft.modules.update([protocol] if protocol else PROTOCOLS)
        _change(call, names, protocol, arguments, draft, carried)
        if protocol:
            _gone(arguments["protocol"], draft)
        _check_model(call, arguments, draft, carried)

    return Plan(carry_out, f"{protocol or 'grpc or http'} client")


def _gone(argument: ast.expr, draft: Draft) -> None:
    """Record uses to do inside a removed argument as gone."""
    inside = set(ast.walk(argument))
    for site in draft.sites:
        outcome = draft.outcome(site) if site.node in inside else None
        if outcome and outcome.todo:
            draft.note(site.node, State.SAFE, "gone with the argument")


def _change(
    call: ast.Call,
    names: tuple[str, ...],
    protocol: str,
    arguments: Mapping[str, ast.expr],
    draft: Draft,
    carried: Carried | None,
) -> None:
    """Replace a context by a client."""
    url, headers, after = arguments["url"], arguments.get("http_headers"), []
    known = str(url.value) if isinstance(url, ast.Constant) else ""
    scheme = next((item for item in _SCHEMES if known.startswith(item)), "")
    if scheme:
        draft.replace(url, repr(known[len(scheme) :]))
        after += [_SCHEMES[scheme]] if _SCHEMES[scheme] else []
    kept = {"url": ""}
    if draft.constant(arguments.get("verbose")) not in (None, False, 0, ""):
        kept["verbose"] = "verbose"
    sends_headers = draft.constant(headers) not in _NO_HEADERS
    connects = carried is not None and carried.shared and protocol != "grpc"
    asks = carried is not None and carried.asks
    function = ("ThreadClient" if connects else "") if protocol else "connect"
    helpers = {function: bool(function), "RememberingClient": asks}
    helpers["with_headers"] = sends_headers and not function
    draft.need(*(helper for helper, is_needed in helpers.items() if is_needed))

    def text(old: str) -> str:
        sent = draft.new(headers) if headers is not None and sends_headers else ""
        called = draft.called(function) if function else f"{protocol}client.InferenceServerClient"
        before = [] if protocol else [draft.new(arguments["protocol"])]
        more = [*after, f"headers={sent}"] if sent and function else after
        new = call_text(draft.edits, call, called, names, before, kept, more)
        if sent and not function:
            new = f"{draft.called('with_headers')}({new}, {sent})"
        return f"{draft.called('RememberingClient')}({new})" if asks else new

    draft.change(call, text)


def model_object(call: ast.Call, draft: Draft) -> Plan:
    """Return the plan for an object instead of a context."""
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
        draft.modules.update([protocol] if protocol else PROTOCOLS)
        place_class(call.func, draft)
        if protocol and isinstance(chosen, (ast.Name, ast.Attribute, ast.Call)):
            draft.replace(chosen, f'"{protocol}"')
            _gone(chosen, draft)

    return Plan(carry_out, f"{draft.object_class}(url, protocol, model_name, …)")


def place_class(node: ast.AST, draft: Draft) -> None:
    """Replace v1's class, or its method, by the class of the objects."""
    while isinstance(node, ast.Attribute) and INFER not in draft.evaluator.of(node):
        node = node.value
    if isinstance(node, (ast.Name, ast.Attribute)) and INFER in draft.evaluator.of(node):
        name = class_name(draft)
        draft.need(name)
        draft.replace(node, draft.called(name))


def class_name(draft: Draft) -> str:
    """Return the class of the objects, with classes if outputs keep v1's forms."""
    plain = draft.object_class in ("InferModel", "GrpcModel")
    return "ClassModel" if plain and draft.keeps_shared_forms else draft.object_class


def of_object(call: ast.Call, draft: Draft) -> Plan:
    """Return a plan that leaves a call of a method as it is."""
    name = getattr(call.func, "attr", "")
    if name.startswith("__") and name not in ("__enter__", "__exit__"):
        raise Refused(f"no object has a method {name}")
    ids = {site.id for site in draft.sites if site.call is call}
    arguments = {key: value for id in ids & _REQUESTS for key, value in _arguments(id, call)}
    if "outputs" in arguments:
        check_forms(arguments["outputs"], draft)
    return Plan(lambda: None, f"{name} of {draft.object_class}", _UNSAFE.get(name, ""))


def _arguments(id: str, call: ast.Call) -> Iterable[tuple[str, ast.expr]]:
    return arguments(PARAMETERS[id], call).items()


def _check_model(
    call: ast.Call, arguments: Mapping[str, ast.expr], draft: Draft, carried: Carried | None
) -> None:
    """Check the model if the file may catch an error: the constructor of v1 raised it."""
    if carried is None:
        return
    parent, name = draft.flows.parents[call], draft.text(arguments["model_name"])
    if isinstance(parent, ast.Expr):
        draft.need("check_model")
        draft.change(call, lambda old: f"{draft.called('check_model')}({old}, {name})")
    elif isinstance(parent, ast.Assign) and draft.is_tried(call):
        draft.need("check_model")
        target = draft.text(parent.targets[0])
        draft.edits.add_after(parent, f"{draft.called('check_model')}({target}, {name})")

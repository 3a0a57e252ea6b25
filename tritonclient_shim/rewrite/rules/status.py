"""TS021 to TS037, TS057 to TS061 (and TS004, TS006): methods of contexts that report.

A status becomes a model's configuration, or what a v2 server reports.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import Tuple

from tritonclient_shim.migrate.scopes import index, last_name
from tritonclient_shim.migrate.values import STATUS
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.rewrite.draft import Draft, call_arguments, owner
from tritonclient_shim.rewrite.flows import CLOSING, Group
from tritonclient_shim.rewrite.options import Plan, Refused
from tritonclient_shim.rewrite.rules.models import Contexts, Form, Rule, same_at

#: Fields and methods of v1's status that no server reports, and no object of the helpers has.
_LACKS = frozenset(("infer_stats", "SerializeToString", "ListFields", "DESCRIPTOR"))
_PARTS = "it has what a v2 server reports: no infer_stats, and no uptime but that of the machine"
_CONFIG = "{model_config}({0}, {1})"
#: A node, its new text in the form of `Draft.write`, and the parts of the text.
_Read = Tuple[ast.AST, str, Tuple[ast.expr, ...]]
#: The start of a state → its enum in the helpers. Codes of requests have no common start.
_ENUMS = {"SERVER": "ServerReadyState", "MODEL": "ModelReadyState"}
_CODES = "RequestStatusCode"
#: The methods of v1's enums → what Python's enums have instead.
_METHODS = {"Name": "({0}).name", "Value": "[{0}]"}
_LAST = "it is of the last request that was done"


def renamed(name: str) -> Rule:
    """Return a rule that gives a method another name, also where it is not called."""

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        method: ast.AST = getattr(call, "func", call)
        return Plan(f"{{0}}.{name}", [getattr(method, "value", method)], name, at=method)

    return rule


def asked(unsafe: str = "") -> Rule:
    """Return the rule for a method that reports on past requests; the client has it."""

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        when = unsafe or (_LAST if contexts.starts else "")
        variable = contexts.client(owner(call))
        return Plan("{0}" if variable else "", [variable], "the same", when, at=owner(call))

    return rule


def correlation_id(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``correlation_id()`` → the argument of the context; an object has the method."""
    if contexts.form is Form.OBJECT:
        return Plan(what="the same")
    return Plan("{0}", [contexts.sequence() or "0"], "the sequence's id")


def repository_index(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """Keep ``get_model_repository_index().models``, which the client for gRPC has, too."""
    reads = [getattr(node, "attr", "") for node in draft.around_result(call)]
    if draft.options.to != "grpc" or set(reads) != {"models"}:
        raise Refused("the client returns a row for each version; read the names from the rows")
    return Plan(what="the same", unsafe="it has a row for each version of a model")


def status(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``get_server_status()`` → the client, if configurations are enough, or a helper."""
    reads = _config_reads(call, draft, contexts.group)
    if reads:
        change = partial(_change_reads, reads, draft)
        return Plan(what="get_model_config(model_name)", also=change)
    lacks = draft.flows.attributes & _LACKS
    lacks |= {"HasField"} if draft.asks_for("config", "ready_state_reason") else set()
    if lacks:
        raise Refused(f"do without {min(lacks)} of a status: it has no successor")
    model = _model(call, draft, contexts.group)
    parts = (owner(call), model)
    if model and isinstance(draft.flows.parents[call], ast.Expr):  # it asks if the model is there
        return Plan("{0}.get_model_config({1})", parts, "get_model_config(name)")
    more = (", {1}" if model else "") + (", part={Status}" if _is_shown(draft) else "")
    return Plan(f"{{server_status}}({{0}}{more})", parts, "server_status(client)", _PARTS)


def _is_shown(draft: Draft) -> bool:
    """True if the program may make text of a status, or of a part of one."""
    return draft.beside.linked or draft.shows(lambda x: getattr(x, "of", "") == STATUS)


def _config_reads(call: ast.Call, draft: Draft, contexts: Group) -> list[_Read]:
    """Return the call, reads of configurations and tests for models; [] for other reads."""
    group, parents = next(iter(draft.flows.of(call)), None), draft.flows.parents
    closes = any(isinstance(parents[x], ast.withitem) for x in contexts.creations)
    closes |= any(last_name(use.func) in CLOSING for use in contexts.calls)
    outlives = closes and not isinstance(parents[call], ast.Attribute)  # it is in a variable
    if group is None or group.escapes or group.calls or outlives:
        return []
    reads: list[_Read] = [(call, "{0}", (owner(call),))]
    for models in group.taken:
        outer = parents[models]
        configs = draft.around_result(outer) if isinstance(outer, ast.Subscript) else []
        known = [x for x in configs if isinstance(x, ast.Attribute) and x.attr == "config"]
        if models.attr != "model_status":
            return []
        if isinstance(outer, ast.Compare) and isinstance(outer.ops[-1], (ast.In, ast.NotIn)):
            opposite = "not " if isinstance(outer.ops[0], ast.NotIn) else ""
            parts = (models.value, outer.left)
            reads.append((outer, opposite + "{0}.is_model_ready({1})", parts))
        elif isinstance(outer, ast.Subscript) and known and len(known) == len(configs):
            reads.append((outer, _CONFIG, (models.value, index(outer))))
            reads += [(config, "{0}", (config.value,)) for config in known]
        else:
            return []
    # errors come with the reads now: the program has to catch them where it did
    tries = {node for node in draft.flows.around(call) if isinstance(node, ast.Try)}
    is_caught = all(tries.issubset(draft.flows.around(read)) for read, _, _ in reads)
    return reads if is_caught and len(reads) > 1 else []


def _change_reads(reads: list[_Read], draft: Draft) -> None:
    """Put the client in the place of the status, and ask it for each configuration."""
    # over gRPC, the platform of models with a backend is ''
    has_all = draft.modules == {"grpc"} and "platform" not in draft.flows.attributes
    for read, form, parts in reads:
        config = "{0}.get_model_config({1}).config" if has_all else form
        draft.write(read, config if form == _CONFIG else form, *parts)


def _model(call: ast.Call, draft: Draft, contexts: Group) -> str:
    """Return the model in the arguments of the context, '' for none. A status has no other."""
    known = []
    for item in contexts.creations:
        name = call_arguments(PARAMETERS["TS025"], item).get("model_name")
        if name is not None and draft.constant(name) is not None:
            known.append(draft.text(name))
            if not same_at(name, call, draft):
                return ""
    return known[0] if known else ""


def state(node: ast.AST, draft: Draft) -> Plan:
    """``server_status_pb2.MODEL_READY``, ``ModelReadyState.Name(number)`` → of the helpers."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return Plan(what="import")
    name, arguments = last_name(node), getattr(node, "args", [])
    form, enum = f".{name}", _CODES if name.isupper() else ""
    enum = _ENUMS.get(name.partition("_")[0], enum)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        enum, form = last_name(node.func.value), _METHODS.get(node.func.attr, "")
    if enum not in (*_ENUMS.values(), _CODES) or not form or len(arguments) > 1:
        raise Refused("do without v1's messages: no server has them")
    return Plan(f"{{{enum}}}{form}", arguments, f"{enum} of the helpers")

"""TS021 to TS037, TS057 to TS061 (and TS004, TS006): methods of contexts that report.

A status becomes a model's configuration, or what a v2 server reports.
"""

from __future__ import annotations

import ast
from typing import Tuple

from tritonclient_shim.migrate.draft import Draft, call_arguments, owner
from tritonclient_shim.migrate.flows import CLOSING, Group
from tritonclient_shim.migrate.options import Plan, Refused
from tritonclient_shim.migrate.rules.models import Contexts, Form, Rule, is_entered, same_at
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.scopes import index, last_name
from tritonclient_shim.scan.values import STATUS

#: Fields and methods of v1's status that no server reports, and no object of the helpers has.
_STATISTICS = "infer_stats"
_LACKS = frozenset((_STATISTICS, "SerializeToString", "ListFields", "DESCRIPTOR"))
_CONFIG = "{config_with_platform}({0}, {1})"
_BLOCKS = (ast.Try, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: A node, its new text in the form of `Draft.write`, and the text's parts.
_Read = Tuple[ast.AST, str, Tuple[ast.expr, ...]]
#: v1's enums → the name of a number.
_NAMES = {
    "ModelReadyState": "{MODEL_STATES}[{0}]",
    "ServerReadyState": "{SERVER_STATES}[{0}]",
    "RequestStatusCode": "{RequestStatusCode}({0}).name",
}


def renamed(name: str) -> Rule:
    """Return a rule that gives a method another name, also where it is not called."""

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        method: ast.AST = getattr(call, "func", call)
        return Plan(f"{{0}}.{name}", [getattr(method, "value", method)], name, at=method)

    return rule


def asked(change: UnsafeChange | None = None) -> Rule:
    """Return the rule for a method that reports on past requests; the client has it.

    ``change``: what the program may notice in any case.
    """

    def rule(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
        unsafe = [] if change is None else [change]
        if contexts.starts:
            unsafe.append(UnsafeChange.LAST_REQUEST)
        variable = contexts.client(owner(call))
        form = "{0}" if variable else ""
        return Plan(form, [variable], "the same", tuple(unsafe), at=owner(call))

    return rule


def correlation_id(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``correlation_id()`` → the argument of the context; an object has the method."""
    if contexts.form is Form.OBJECT:
        return Plan(what="the same")
    return Plan("{0}", [contexts.sequence() or "0"], "the sequence's id")


def status(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``get_server_status()`` → the client, if configurations are enough, or a helper."""
    reads = _config_reads(call, draft, contexts.group)
    if reads:
        changes = []
        if any(isinstance(read, ast.Compare) for read, _, _ in reads):
            changes.append(UnsafeChange.LOADED_MODEL)
        if any(form == _CONFIG for _, form, _ in reads):
            changes.append(UnsafeChange.CONFIGURATION)
        return Plan(
            what="get_model_config(model_name)",
            unsafe=tuple(changes),
            also=lambda: _change_reads(reads, draft),
        )
    model = _model(call, draft, contexts.group)
    unsafe = [UnsafeChange.STATUS_OF_ALL] if model is None else []
    parts = (owner(call), model or "")
    results = draft.results(call)
    if results and all(map(draft.is_printed, results)):
        name = "get_inference_statistics"
        unsafe.append(UnsafeChange.PRINTED_STATUS)
        form = f"{{0}}.{name}({{1}})" if model else f"{{0}}.{name}()"
        return Plan(form, parts, f"{name}(model_name)", tuple(unsafe))
    statistics = _statistics(draft)
    lacks = draft.flows.attributes & _LACKS
    if statistics and all(map(draft.is_printed, statistics)):
        lacks -= {_STATISTICS}
        unsafe.append(UnsafeChange.PRINTED_STATISTICS)
    lacks |= {"HasField"} if draft.asks_for("config", "ready_state_reason") else set()
    if lacks:
        raise Refused(f"do without {min(lacks)} of a status: it has no successor")
    if model and draft.is_dropped(call):  # it asks if the model is there
        return Plan("{0}.get_model_config({1})", parts, "get_model_config(name)")
    is_shown = draft.beside.linked or draft.shows(lambda x: getattr(x, "of", "") == STATUS)
    more = (", {1}" if model else "") + (", part={Status}" if is_shown else "")
    unsafe.append(UnsafeChange.STATUS)
    return Plan(f"{{server_status}}({{0}}{more})", parts, "server_status(client)", tuple(unsafe))


def _statistics(draft: Draft) -> list[ast.AST]:
    """Return the reads of a status's statistics."""
    nodes = draft.flows.parents
    return [node for node in nodes if getattr(node, "attr", "") == _STATISTICS]


def _config_reads(call: ast.Call, draft: Draft, contexts: Group) -> list[_Read]:
    """Return the call, reads of configurations and tests for models; [] for other reads."""
    group, parents = next(iter(draft.flows.of(call)), None), draft.flows.parents
    closes = any(last_name(use.func) in CLOSING for use in contexts.calls)
    closes |= is_entered(contexts, draft)
    outlives = closes and not isinstance(parents[call], ast.Attribute)  # it is in a variable
    if group is None or group.escapes or group.calls or outlives:
        return []
    reads: list[_Read] = [(call, "{0}", (owner(call),))]
    for models in group.taken:
        outer = parents[models] if models.attr == "model_status" else None
        configs = draft.around_result(outer) if isinstance(outer, ast.Subscript) else []
        known = [x for x in configs if isinstance(x, ast.Attribute) and x.attr == "config"]
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
    blocks = {node for node in draft.flows.around(call) if isinstance(node, _BLOCKS)}
    is_late = not all(blocks.issubset(draft.flows.around(read)) for read, _, _ in reads)
    if _model(call, draft, contexts) != "":  # v1 raised an error if the server lacked it
        is_late |= any(isinstance(read, ast.Compare) for read, _, _ in reads)
    return [] if len(reads) < 2 or is_late and draft.is_tried(call) else reads


def _change_reads(reads: list[_Read], draft: Draft) -> None:
    """Put the client in the place of the status, and ask it for each configuration."""
    # over gRPC, the platform of models with a backend is ''
    has_all = draft.modules == {"grpc"} and "platform" not in draft.flows.attributes
    for read, form, parts in reads:
        config = "{0}.get_model_config({1}).config" if has_all else form
        draft.write(read, config if form == _CONFIG else form, *parts)


def _model(call: ast.Call, draft: Draft, contexts: Group) -> str | None:
    """Return the model of the contexts, '' for none. None: it has no name that is known here."""
    models = set()
    for item in contexts.creations:
        name = call_arguments(PARAMETERS["TS025"], item).get("model_name")
        if name is None or draft.constant(name) is None:
            models.add("")
        elif same_at(name, call, draft):
            models.add(draft.text(name))
        else:
            return None
    return models.pop() if len(models) == 1 else None


def state(node: ast.AST, draft: Draft) -> Plan:
    """``server_status_pb2.MODEL_READY``, ``ModelReadyState.Name(number)`` → of the helpers."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return Plan(what="import")
    name, arguments, form = last_name(node), getattr(node, "args", []), ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "Name":
            form = _NAMES.get(last_name(node.func.value), "")
        elif node.func.attr == "Value" and len(arguments) == 1:
            name, arguments = str(draft.constant(arguments[0])), []
    if name.isupper():  # codes of requests have no common start
        is_plain = name.startswith(("MODEL_", "SERVER_", "SUCCESS"))
        form = f"{{{name}}}" if is_plain else f"{{RequestStatusCode}}.{name}"
    if not form or form.count("{0}") != len(arguments):
        raise Refused("do without v1's messages: no server has them")
    return Plan(form, arguments, "a state or code of the helpers")

"""TS026 (and TS004, TS006): a status → a model's configuration, or what a server reports."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.scopes import index, last_name
from tritonclient_shim.migrate.values import STATUS
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import call_arguments, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import CLOSING
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.models import Contexts, same_at
from tritonclient_shim.rewrite.rules.plan import Plan

#: Fields and methods of v1's status that no server reports, and no object of the helpers has.
_LACKS = frozenset(
    ("infer_stats", "SerializeToString", "ListFields", "HasField", "CopyFrom", "DESCRIPTOR")
)
#: Fields of a status, of its models and versions besides configurations.
OTHERS = frozenset(
    ("id", "version", "uptime_ns", "ready_state", "version_status")
    + ("model_execution_count", "model_inference_count", "last_inference_timestamp_milliseconds")
)
_PARTS = "it has what a v2 server reports: no infer_stats, and no uptime but that of the machine"
#: Codes of the status of a request.
_CODES = frozenset(
    ("INVALID", "SUCCESS", "UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE")
    + ("UNSUPPORTED", "ALREADY_EXISTS")
)
_ENUMS = {"SERVER": "ServerReadyState", "MODEL": "ModelReadyState"}


def status(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``get_server_status()`` → the client, if configurations are enough, or a helper."""
    reads = _config_reads(call, draft)
    if reads is not None:
        return Plan(lambda: _ask_for_configs(call, reads, draft), "get_model_config(model_name)")
    lacks = draft.attributes & _LACKS
    if lacks:
        raise Refused(f"do without {min(lacks)} of a status: it has no successor")
    name = _model_name(call, draft)
    model = draft.text(name) if name is not None and same_at(name, call, draft) else ""
    if model and isinstance(draft.flows.parents[call], ast.Expr):  # it asks if the model is there
        return Plan(lambda: _ask_for_config(call, model, draft), "get_model_config(name)")
    return Plan(lambda: _ask_for_status(call, model, draft), "server_status(client)", _PARTS)


def _ask_for_config(call: ast.Call, model: str, draft: Draft) -> None:
    draft.change(call, lambda old: f"{draft.new(owner(call))}.get_model_config({model})")


def _ask_for_status(call: ast.Call, model: str, draft: Draft) -> None:
    """Call the helper for the status of a model, or of all."""
    draft.need("server_status")
    helper, more = draft.called("server_status"), f", {model}" if model else ""
    draft.change(call, lambda old: f"{helper}({draft.new(owner(call))}{more})")


def _config_reads(call: ast.Call, draft: Draft) -> list[ast.AST] | None:
    """Return all reads of configurations, and tests for models; None if there are other reads."""
    group, parents = draft.flows.group(STATUS, call), draft.flows.parents
    if group is None or group.escapes or group.calls or _is_closed(call, draft):
        return None
    reads: list[ast.AST] = []
    for models in group.taken:
        outer = parents[models]
        configs = draft.around_result(outer) if isinstance(outer, ast.Subscript) else []
        is_test = isinstance(outer, ast.Compare) and isinstance(outer.ops[-1], (ast.In, ast.NotIn))
        is_read = bool(configs) and all(getattr(x, "attr", "") == "config" for x in configs)
        if models.attr != "model_status" or not (is_test or is_read):
            return None
        reads += [outer, *configs]
    # errors come with the reads now: the program has to catch them where it did
    tries = {node for node in draft.flows.around(call) if isinstance(node, ast.Try)}
    is_caught = all(tries.issubset(draft.flows.around(read)) for read in reads)
    return reads if reads and is_caught else None


def _is_closed(call: ast.Call, draft: Draft) -> bool:
    """True if the program closes the client of a status that is in a variable."""
    groups, parents = draft.flows.of(owner(call)), draft.flows.parents
    in_with = (isinstance(parents[x], ast.withitem) for item in groups for x in item.creations)
    closed = (last_name(use.func) in CLOSING for item in groups for use in item.calls)
    return not isinstance(parents[call], ast.Attribute) and (any(in_with) or any(closed))


def _ask_for_configs(call: ast.Call, reads: list[ast.AST], draft: Draft) -> None:
    """Put the client in the place of the status, and ask it for each configuration."""
    draft.change(call, lambda old: draft.new(owner(call)))
    for read in reads:
        if isinstance(read, ast.Attribute):  # entry.config
            _change_config(read, draft)
        elif isinstance(read, ast.Compare):
            _change_test(read, draft)
        elif isinstance(read, ast.Subscript):
            _change_entry(read, draft)


def _change_config(config: ast.Attribute, draft: Draft) -> None:
    draft.change(config, lambda old: draft.new(config.value))


def _change_test(test: ast.Compare, draft: Draft) -> None:
    """``name in status.model_status`` → ``client.is_model_ready(name)``."""
    models = test.comparators[-1]
    assert isinstance(models, ast.Attribute)
    opposite = "not " if isinstance(test.ops[0], ast.NotIn) else ""

    def change(old: str) -> str:
        return f"{opposite}{draft.new(models.value)}.is_model_ready({draft.new(test.left)})"

    draft.change(test, change)


def _change_entry(entry: ast.Subscript, draft: Draft) -> None:
    """``status.model_status[name]`` → the configuration of a model."""
    models, is_plain = entry.value, _is_plain(draft)
    assert isinstance(models, ast.Attribute)
    draft.need(*([] if is_plain else ["model_config"]))

    def change(old: str) -> str:
        client, name = draft.new(models.value), draft.new(index(entry))
        if is_plain:
            return f"{client}.get_model_config({name}).config"
        return f"{draft.called('model_config')}({client}, {name})"

    draft.change(entry, change)


def _is_plain(draft: Draft) -> bool:
    """True if gRPC's configurations are enough. Their platform is '' for models with a backend."""
    return draft.modules == {"grpc"} and "platform" not in draft.attributes


def _model_name(call: ast.Call, draft: Draft) -> ast.expr | None:
    """Return the model in the arguments of the context. Its status has no other model."""
    assert isinstance(call.func, ast.Attribute)
    calls = {item for group in draft.flows.of(call.func.value) for item in group.creations}
    names = [call_arguments(PARAMETERS["TS025"], call).get("model_name") for call in calls]
    return next((name for name in names if draft.constant(name) is not None), None)


def state(node: ast.AST, draft: Draft) -> Plan:
    """``server_status_pb2.MODEL_READY``, ``ModelReadyState.Name(number)`` → of the helpers."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return Plan(lambda: None, "import")
    function = node.func if isinstance(node, ast.Call) else node
    name = getattr(function, "attr", "")
    argument: ast.expr | None = None
    if isinstance(node, ast.Call):
        enum = getattr(getattr(function, "value", None), "attr", "")
        argument = node.args[0] if len(node.args) == 1 else None
        form = {"Name": "{}({}).name", "Value": "{}[{}]"}.get(name, "") if argument else ""
    else:
        enum = "RequestStatusCode" if name in _CODES else _ENUMS.get(name.partition("_")[0], "")
        form = f"{{}}.{name}"
    if enum not in (*_ENUMS.values(), "RequestStatusCode") or not form:
        raise Refused("do without v1's messages: no server has them")

    def carry_out() -> None:
        draft.need(enum)
        inner = [argument] if argument else []
        draft.change(node, lambda old: form.format(draft.called(enum), *map(draft.new, inner)))

    return Plan(carry_out, f"{enum} of the helpers")

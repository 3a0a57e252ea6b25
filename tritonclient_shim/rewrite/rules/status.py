"""TS026: a status of which only the configuration of a model is read → the configuration."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.migrate.scopes import index
from tritonclient_shim.migrate.values import STATUS
from tritonclient_shim.rewrite.calls import call_arguments, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.repeating import same_at
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

#: Fields and methods of a status, of its models and versions besides configurations.
_OTHERS = frozenset(
    ("id", "version", "uptime_ns", "ready_state", "version_status", "infer_stats")
    + ("model_execution_count", "model_inference_count", "last_inference_timestamp_milliseconds")
    + ("SerializeToString", "ListFields", "HasField", "CopyFrom", "DESCRIPTOR")
)
_BY_PART = "ask the client for each part of the status where it is needed"


def status(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_server_status().model_status[name].config`` → ``get_model_config(name).config``."""
    models = draft.flows.parents[call]
    model = draft.flows.parents[models]
    if getattr(models, "attr", "") == "model_status" and isinstance(model, ast.Subscript):
        config = draft.flows.parents[model]
        if getattr(config, "attr", "") == "config":
            return _of_chain(call, config, index(model), draft)
    group = draft.flows.group(STATUS, call)
    name = _model_name(call, draft)
    if name is None or not same_at(name, call, draft):
        raise Refused("name the model in the context, or ask the client for each part")
    if not _reads_only_configs(draft) or group and group.escapes:
        raise Refused(_BY_PART)
    model_text = draft.text(name)

    def carry_out() -> None:
        draft.need("config_status")
        function = draft.called("config_status")
        draft.change(call, lambda old: f"{function}({draft.new(owner(call))}, {model_text})")

    return Plan(carry_out, "config_status(client, model_name)")


def _of_chain(call: ast.Call, config: ast.AST, key: ast.AST, draft: Draft) -> Plan:
    def carry_out() -> None:
        is_grpc = draft.modules == {"grpc"}
        draft.need(*([] if is_grpc else ["model_config"]))

        def change(old: str) -> str:
            client, name = draft.new(owner(call)), draft.new(key)
            if is_grpc:
                return f"{client}.get_model_config({name}).config"
            return f"{draft.called('model_config')}({client}, {name})"

        draft.change(config, change)

    return Plan(carry_out, "get_model_config(model_name)")


def _reads_only_configs(draft: Draft) -> bool:
    """True if a file reads no part of a status but configurations."""
    attributes = [node for node in ast.walk(draft.source.tree) if isinstance(node, ast.Attribute)]
    models = [node for node in attributes if node.attr == "model_status"]
    parents = [draft.flows.parents[node] for node in models]
    parts = [
        node
        for parent in parents
        if isinstance(parent, ast.Subscript)
        for node in draft.around_result(parent)
    ]
    return (
        not any(node.attr in _OTHERS for node in attributes)
        and all(isinstance(parent, (ast.Subscript, ast.Compare)) for parent in parents)
        and all(getattr(node, "attr", "") == "config" for node in parts)
    )


def _model_name(call: ast.Call, draft: Draft) -> ast.expr | None:
    """Return the model in the arguments of the context. Its status has no other model."""
    assert isinstance(call.func, ast.Attribute)
    calls = {item for group in draft.flows.of(call.func.value) for item in group.creations}
    names = [call_arguments(PARAMETERS["TS025"], call).get("model_name") for call in calls]
    return next((name for name in names if draft.constant(name) is not None), None)

"""TS026 (and TS004, TS006): a status → a model's configuration, or what a server reports."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.scopes import index
from tritonclient_shim.migrate.values import STATUS
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import call_arguments, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.repeating import same_at
from tritonclient_shim.rewrite.rules.models import Carried
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


def status(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_server_status()`` → ``get_model_config(name)`` if that is enough, or a helper."""
    configs = _configs(call, draft)
    if configs:
        return _of_client(call, configs, draft)
    models = draft.flows.parents[call]
    lacks = draft.attributes & _LACKS
    if lacks:
        raise Refused(f"do without {min(lacks)} of a status: it has no successor")
    group = draft.flows.group(STATUS, call)
    name = _model_name(call, draft)
    model = draft.text(name) if name is not None and same_at(name, call, draft) else ""
    is_whole = not model or group and group.escapes or not _reads_only_configs(draft)
    helper = "server_status" if is_whole else "config_status"

    def carry_out() -> None:
        in_place = not is_whole and _is_plain(draft)
        draft.need(*([] if in_place else [helper]))
        if in_place and not isinstance(models, ast.Expr):
            draft.imports.add("from types import SimpleNamespace")

        def change(old: str) -> str:
            client = draft.new(owner(call))
            if in_place:
                answer = f"{client}.get_model_config({model})"
                if isinstance(models, ast.Expr):  # the program only asks if the model is there
                    return answer
                return f"SimpleNamespace(model_status={{{model}: {answer}}})"
            return f"{draft.called(helper)}({client}{model and ', '}{model})"

        draft.change(call, change)

    what = f"{helper}(client)" if is_whole else "get_model_config(model_name)"
    return Plan(carry_out, what, _PARTS if is_whole else "")


def _configs(call: ast.Call, draft: Draft) -> list[ast.Attribute]:
    """Return all reads ``status.model_status[name].config``; nothing if there are other reads."""
    parents, configs = draft.flows.parents, []
    reads = draft.around_result(call)
    for models in reads:
        entry = parents[models]
        config = parents[entry]
        is_entry = getattr(models, "attr", "") == "model_status" and isinstance(
            entry, ast.Subscript
        )
        if is_entry and isinstance(config, ast.Attribute) and config.attr == "config":
            configs.append(config)
    is_direct = isinstance(parents[call], ast.Attribute)
    is_known = len(configs) == len(reads) and (is_direct or not draft.is_tried(call))
    return configs if is_known else []


def _of_client(call: ast.Call, configs: list[ast.Attribute], draft: Draft) -> Plan:
    """Return the plan that has the client in place of the status, and asks for each config."""

    def change(config: ast.Attribute, is_plain: bool) -> None:
        entry = config.value
        assert isinstance(entry, ast.Subscript) and isinstance(entry.value, ast.Attribute)
        status, key = entry.value.value, index(entry)

        def text(old: str) -> str:
            if is_plain:
                return f"{draft.new(status)}.get_model_config({draft.new(key)}).config"
            return f"{draft.called('model_config')}({draft.new(status)}, {draft.new(key)})"

        draft.change(config, text)

    def carry_out() -> None:
        is_plain = _is_plain(draft)
        draft.need(*([] if is_plain else ["model_config"]))
        draft.change(call, lambda old: draft.new(owner(call)))
        for config in configs:
            change(config, is_plain)

    return Plan(carry_out, "get_model_config(model_name)")


def _is_plain(draft: Draft) -> bool:
    """True if gRPC's configurations are enough. Their platform is '' for models with a backend."""
    return draft.modules == {"grpc"} and "platform" not in draft.attributes


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
        draft.attributes.isdisjoint(OTHERS)
        and all(isinstance(parent, (ast.Subscript, ast.Compare)) for parent in parents)
        and all(getattr(node, "attr", "") == "config" for node in parts)
    )


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

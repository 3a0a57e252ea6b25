"""TS026 (and TS004): a status → an object with the parts that v2 servers report."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.migrate.values import STATUS
from tritonclient_shim.rewrite.calls import call_arguments, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.repeating import same_at
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan

#: Fields and methods of v1's status that the object lacks.
_LACKS = frozenset(
    ("infer_stats", "SerializeToString", "ListFields", "HasField", "CopyFrom", "DESCRIPTOR")
)
#: Fields of a status, of its versions and of configurations that ``config_status`` lacks.
_FIELDS = frozenset(
    ("id", "version", "uptime_ns", "ready_state", "version_status", "platform")
    + ("model_execution_count", "model_inference_count", "last_inference_timestamp_milliseconds")
)
_ESCAPES = "it has what a v2 server tells, and code elsewhere may use more"
_ENUMS = {"SERVER": "ServerReadyState", "MODEL": "ModelReadyState"}


def status(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_server_status()`` → ``server_status(client)``, a function of the file."""
    for node in ast.walk(draft.source.tree):
        if isinstance(node, ast.Attribute) and node.attr in _LACKS:
            raise Refused(f"{node.attr} of a status has no successor")
    group = draft.flows.group(STATUS, call)
    unsafe = _ESCAPES if group and group.escapes else ""
    name = _model_name(call, draft)
    model = ""
    if name is not None and same_at(name, call, draft):
        model = f", {draft.text(name)}"
    elif name is not None:
        unsafe = "it tells of all models: the one of the context is only known where that is made"

    is_short = model and not (group and group.escapes) and _reads_only_configs(draft)
    helper = "config_status" if is_short else "server_status"

    def carry_out() -> None:
        draft.need(helper)
        function = draft.called(helper)
        draft.change(call, lambda old: f"{function}({draft.new(owner(call))}{model})")

    return Plan(carry_out, f"{helper}(client)", unsafe)


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
        not any(node.attr in _FIELDS for node in attributes)
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
    """``server_status_pb2.MODEL_READY``, ``ModelReadyState.Name(number)`` → of the file's enum."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return Plan(lambda: None, "import")
    function = node.func if isinstance(node, ast.Call) else node
    attribute = getattr(function, "attr", "")
    if isinstance(node, ast.Call):
        enum = getattr(getattr(function, "value", None), "attr", "")
        forms = {"Name": "{0}({1}).name", "Value": "{0}[{1}].value"}
        if enum not in _ENUMS.values() or attribute not in forms or len(node.args) != 1:
            raise Refused("messages of v1's protocol have no successor")
        text = forms[attribute].format(draft.called(enum), draft.text(node.args[0]))
        return _enum(node, enum, text, draft)
    enum = _ENUMS.get(attribute.partition("_")[0], "")
    if not enum or attribute.upper() != attribute:
        raise Refused("messages of v1's protocol have no successor")
    compared = isinstance(draft.flows.parents[node], ast.Compare)
    text = f"{draft.called(enum)}.{attribute}"
    return _enum(node, enum, text if compared else f"{text}.value", draft)


def _enum(node: ast.AST, enum: str, text: str, draft: Draft) -> Plan:
    def carry_out() -> None:
        draft.need(enum)
        draft.replace(node, text)

    return Plan(carry_out, text)

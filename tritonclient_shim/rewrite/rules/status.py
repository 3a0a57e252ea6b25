"""TS026 (and TS004, TS006): a status → a model's configuration, or what a server reports."""

from __future__ import annotations

import ast
from functools import partial

from tritonclient_shim.migrate.scopes import index, last_name
from tritonclient_shim.migrate.values import STATUS
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import call_arguments, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import CLOSING, Group
from tritonclient_shim.rewrite.options import Plan, Refused
from tritonclient_shim.rewrite.rules.models import Contexts, same_at

#: Fields and methods of v1's status that no server reports, and no object of the helpers has.
_LACKS = frozenset(("infer_stats", "SerializeToString", "ListFields", "HasField", "DESCRIPTOR"))
_PARTS = "it has what a v2 server reports: no infer_stats, and no uptime but that of the machine"
#: The start of a state → its enum in the helpers. Codes of requests have no common start.
_ENUMS = {"SERVER": "ServerReadyState", "MODEL": "ModelReadyState"}
_CODES = "RequestStatusCode"
#: The methods of v1's enums → what Python's enums have instead.
_METHODS = {"Name": "({0}).name", "Value": "[{0}]"}


def status(call: ast.Call, draft: Draft, contexts: Contexts) -> Plan:
    """``get_server_status()`` → the client, if configurations are enough, or a helper."""
    reads = _config_reads(call, draft, contexts.group)
    if reads:
        change = partial(_change_reads, reads, draft)
        return Plan(what="get_model_config(model_name)", also=change)
    lacks = draft.attributes & _LACKS
    if lacks:
        raise Refused(f"do without {min(lacks)} of a status: it has no successor")
    model = _model(call, draft, contexts.group)
    parts = (owner(call), model)
    if model and isinstance(draft.flows.parents[call], ast.Expr):  # it asks if the model is there
        return Plan("{0}.get_model_config({1})", parts, "get_model_config(name)")
    form = "{server_status}({0}, {1})" if model else "{server_status}({0})"
    return Plan(form, parts, "server_status(client)", _PARTS)


def _config_reads(call: ast.Call, draft: Draft, contexts: Group) -> list[ast.AST]:
    """Return the call, reads of configurations and tests for models; [] for other reads."""
    group, parents = draft.flows.group(STATUS, call), draft.flows.parents
    closes = any(isinstance(parents[x], ast.withitem) for x in contexts.creations)
    closes |= any(last_name(use.func) in CLOSING for use in contexts.calls)
    outlives = closes and not isinstance(parents[call], ast.Attribute)  # it is in a variable
    if group is None or group.escapes or group.calls or outlives:
        return []
    reads: list[ast.AST] = [call]
    for models in group.taken:
        outer = parents[models]
        configs = draft.around_result(outer) if isinstance(outer, ast.Subscript) else []
        is_test = isinstance(outer, ast.Compare) and isinstance(outer.ops[-1], (ast.In, ast.NotIn))
        is_read = bool(configs) and all(getattr(x, "attr", "") == "config" for x in configs)
        if models.attr != "model_status" or not (is_test or is_read):
            return []
        reads += [outer, *configs]
    # errors come with the reads now: the program has to catch them where it did
    tries = {node for node in draft.flows.around(call) if isinstance(node, ast.Try)}
    is_caught = all(tries.issubset(draft.flows.around(read)) for read in reads)
    return reads if is_caught and len(reads) > 1 else []


def _change_reads(reads: list[ast.AST], draft: Draft) -> None:
    """Put the client in the place of the status, and ask it for each configuration."""
    for read in reads:
        draft.change(read, partial(_new_read, draft, read))


def _new_read(draft: Draft, read: ast.AST, old: str) -> str:
    """Return what becomes of a call, of an entry of its status or its ``config``, or of a test."""
    if isinstance(read, ast.Call):
        return draft.new(owner(read))
    if isinstance(read, ast.Attribute):
        return draft.new(read.value)
    if isinstance(read, ast.Compare):
        models, name = read.comparators[-1], read.left
        opposite = "not " if isinstance(read.ops[0], ast.NotIn) else ""
        form = opposite + "{}.is_model_ready({})"
    else:
        assert isinstance(read, ast.Subscript)
        models, name, form = read.value, index(read), "{}.get_model_config({}).config"
        # over gRPC, the platform of models with a backend is ''
        if draft.modules != {"grpc"} or "platform" in draft.attributes:
            draft.need("model_config")
            form = f"{draft.called('model_config')}({{}}, {{}})"
    assert isinstance(models, ast.Attribute)
    return form.format(draft.new(models.value), draft.new(name))


def _model(call: ast.Call, draft: Draft, contexts: Group) -> str:
    """Return the model in the arguments of the context, '' for none. A status has no other."""
    arguments = [call_arguments(PARAMETERS["TS025"], item) for item in contexts.creations]
    names = [item.get("model_name") for item in arguments]
    known = [name for name in names if name is not None and draft.constant(name) is not None]
    is_repeatable = known and all(same_at(name, call, draft) for name in known)
    return draft.text(known[0]) if is_repeatable else ""


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

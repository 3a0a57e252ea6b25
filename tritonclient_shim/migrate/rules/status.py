"""TS021 to TS037, TS057 to TS061 (and TS004, TS006): methods of contexts that report.

A status becomes a model's configuration, or what a v2 server reports.
"""

from __future__ import annotations

import ast
from typing import Tuple, Union

from tritonclient_shim.migrate.decisions import Plan, Refused, Rewrite, rewrite, unchanged
from tritonclient_shim.migrate.edits import Edit, Remove, replaced
from tritonclient_shim.migrate.facts import FileFacts, call_arguments, owner
from tritonclient_shim.migrate.flows import CLOSING, Group
from tritonclient_shim.migrate.rules.models import (
    Contexts,
    Form,
    Rule,
    context_arguments,
    is_entered,
    same_at,
)
from tritonclient_shim.migrate.rules.names import protocol_of
from tritonclient_shim.migrate.rules.status_reads import reads_known_fields, reads_states
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.registry.patterns import PARAMETERS
from tritonclient_shim.scan.scopes import index, last_name
from tritonclient_shim.scan.values import STATUS

#: Fields and methods of v1's status that no server reports, and no object of the helpers has.
_STATISTICS = "infer_stats"
_LACKS = frozenset((_STATISTICS, "SerializeToString", "ListFields", "DESCRIPTOR"))
_CONFIG = "{config_with_platform}({0}, {1})"
#: The client in place of a status that the server refuses for a model that it lacks.
_CHECKED = "{with_model}({0}, {1})"
_BLOCKS = (ast.Try, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: A node, the form of its new text, and the text's parts.
_Read = Tuple[ast.AST, str, Tuple[Union[ast.expr, str], ...]]
#: v1's enums → the name of a number.
_NAMES = {
    "ModelReadyState": "{MODEL_STATES}[{0}]",
    "ServerReadyState": "{SERVER_STATES}[{0}]",
    "RequestStatusCode": "{RequestStatusCode}({0}).name",
}


def renamed(name: str) -> Rule:
    """Return a rule that gives a method another name, also where it is not called."""

    def rule(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
        method: ast.AST = getattr(call, "func", call)
        return rewrite(method, f"{{0}}.{name}", getattr(method, "value", method), what=name)

    return rule


def asked(change: UnsafeChange | None = None) -> Rule:
    """Return the rule for a method that reports on past requests; the object has it.

    ``change``: what the program may notice in any case.
    """

    def rule(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
        unsafe = [] if change is None else [change]
        if contexts.starts:
            unsafe.append(UnsafeChange.LAST_REQUEST)
        return unchanged(unsafe=tuple(unsafe))

    return rule


def correlation_id(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
    """``correlation_id()`` → the argument of the context; an object has the method."""
    if contexts.form is Form.OBJECT:
        return unchanged()
    return rewrite(call, "{0}", contexts.sequence() or "0", what="the sequence's id")


def status(call: ast.Call, facts: FileFacts, contexts: Contexts) -> Plan:
    """``get_server_status()`` → the client, if configurations are enough, or a helper."""
    is_known = reads_known_fields(call, facts)
    reads = _config_reads(call, facts, contexts.group)
    changes = _changes_of(reads)
    if reads and (all(map(facts.options.allows, changes)) or not is_known):
        return Rewrite(
            what="get_model_config(model_name)",
            unsafe=changes,
            own_edits=_changed_reads(reads, facts, contexts.group),
        )
    model = _model(call, facts, contexts.group)
    unsafe = [UnsafeChange.STATUS_OF_ALL] if model is None else []
    parts = (owner(call), model or "")
    results = facts.results(call)
    if results and all(map(facts.is_printed, results)):
        name = "get_inference_statistics"
        unsafe.append(UnsafeChange.PRINTED_STATUS)
        form = f"{{0}}.{name}({{1}})" if model else f"{{0}}.{name}()"
        return rewrite(call, form, *parts, what=f"{name}(model_name)", unsafe=tuple(unsafe))
    statistics = _statistics(facts)
    lacks = facts.flows.attributes & _LACKS
    if statistics and all(map(facts.is_printed, statistics)):
        lacks -= {_STATISTICS}
        unsafe.append(UnsafeChange.PRINTED_STATISTICS)
    lacks |= {"HasField"} if facts.asks_for("config", "ready_state_reason") else set()
    if lacks:
        if _STATISTICS in lacks:
            raise Refused("read client.get_inference_statistics(model_name) for infer_stats")
        raise Refused(f"do without {min(lacks)}: the successor of a status is no message")
    if model and facts.is_dropped(call):  # it asks if the model is there
        return rewrite(call, "{0}.get_model_config({1})", *parts, what="get_model_config(name)")
    more = (", {1}" if model else "") + (", part={Status}" if _may_show(facts) else "")
    if not is_known:
        unsafe.append(UnsafeChange.STATUS)
    form = f"{{get_server_status}}({{0}}{more})"
    return rewrite(call, form, *parts, what="get_server_status(client)", unsafe=tuple(unsafe))


def _may_show(facts: FileFacts) -> bool:
    """True if the program may make text of a status or a part of it."""
    return facts.beside.linked or facts.shows(lambda x: getattr(x, "of", "") == STATUS)


def asks_for_states(facts: FileFacts) -> bool:
    """True if the program reads no more of a status than states and names."""
    calls = [site.call for site in facts.sites if site.id == "TS026"]
    are_states = all(call and reads_states(call, facts) for call in calls)
    return are_states and not (calls and _may_show(facts))


def _changes_of(reads: list[_Read]) -> tuple[UnsafeChange, ...]:
    """Return what a program may notice whose reads of a status ask the client."""
    changes: list[UnsafeChange] = []
    if any(isinstance(read, ast.Compare) for read, _, _ in reads):
        changes.append(UnsafeChange.LOADED_MODEL)
    if any(form == _CONFIG for _, form, _ in reads):
        changes.append(UnsafeChange.CONFIGURATION)
    return tuple(changes)


def _statistics(facts: FileFacts) -> list[ast.AST]:
    """Return the reads of a status's statistics."""
    nodes = facts.flows.parents
    return [node for node in nodes if getattr(node, "attr", "") == _STATISTICS]


def _config_reads(call: ast.Call, facts: FileFacts, contexts: Group) -> list[_Read]:
    """Return the call, reads of configurations and tests for models; [] for other reads."""
    group = next(iter(facts.flows.of(call)), None)
    parents = facts.flows.parents
    closes = any(last_name(use.func) in CLOSING for use in contexts.calls)
    closes |= is_entered(contexts, facts)
    outlives = closes and not isinstance(parents[call], ast.Attribute)  # it is in a variable
    if group is None or group.escapes or group.calls or outlives:
        return []
    reads: list[_Read] = [(call, "{0}", (owner(call),))]
    for models in group.taken:
        outer = parents[models] if models.attr == "model_status" else None
        configs = facts.around_result(outer) if isinstance(outer, ast.Subscript) else []
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
    blocks = {node for node in facts.flows.around(call) if isinstance(node, _BLOCKS)}
    is_late = not all(blocks.issubset(facts.flows.around(read)) for read, _, _ in reads)
    is_tried = facts.is_tried(call)
    if len(reads) < 2 or is_late and is_tried:
        return []
    model = _model(call, facts, contexts)
    is_asked = any(isinstance(read, ast.Compare) for read, _, _ in reads)
    if is_asked and is_tried and model != "":  # v1 raised an error if the server lacked it
        if model is None:
            return []
        reads[0] = (call, _CHECKED, (owner(call), model))
    return reads


def _changed_reads(reads: list[_Read], facts: FileFacts, contexts: Group) -> tuple[Edit, ...]:
    """Put the client in the place of the status, and ask it for each configuration."""
    creations = [context_arguments(item, "TS025", facts) for item in contexts.creations]
    protocols = {protocol_of(item["protocol"], facts) for item in creations}
    config = _CONFIG
    if not _may_read_platform(reads, facts):
        is_grpc = protocols == {"grpc"}
        config = "{0}.get_model_config({1}).config" if is_grpc else "{fetched_config}({0}, {1})"
    removed = _status_that_goes(reads, facts)
    _, first_form, (client, *model) = reads[0]
    edits: list[Edit] = []
    if removed and first_form == _CHECKED:
        edits.append(replaced(removed, "{0}.get_model_config({1})", client, *model))
    elif removed:
        edits.append(Remove(removed))
    for read, form, parts in reads[1:] if removed else reads:
        if removed and form != "{0}":
            parts = (client, *parts[1:])
        edits.append(replaced(read, config if form == _CONFIG else form, *parts))
        if form == _CONFIG:
            edits += _under_one_name(read, facts)
    return tuple(edits)


def _status_that_goes(reads: list[_Read], facts: FileFacts) -> ast.Assign | None:
    """Return the assignment of the status, if the client does for it.

    None, if there is no variable that has the status alone, or none that has the client alone.
    """
    call, _, (client, *_) = reads[0]
    assignment = _only_assignment(call, facts)
    is_named = isinstance(client, ast.Name) and len(facts.evaluator.scopes.bindings(client)) == 1
    if assignment is None or not is_named:
        return None
    asked = {parts[0] for _, form, parts in reads[1:] if form != "{0}"}
    return assignment if asked == _reads_of(assignment, facts) else None


def _under_one_name(read: ast.AST, facts: FileFacts) -> list[Edit]:
    """Assign a configuration at once to the variable that gets it from the part of a status."""
    first = _only_assignment(read, facts)
    results = facts.around_result(read)
    if first is None or len(results) != 1:
        return []
    second = _only_assignment(results[0], facts)
    if second is None or second not in facts.layout.block(first):
        return []
    if _reads_of(first, facts) != {getattr(results[0], "value", None)}:
        return []
    return [replaced(first.targets[0], "{0}", facts.text(second.targets[0])), Remove(second)]


def _reads_of(assignment: ast.Assign, facts: FileFacts) -> set[ast.AST]:
    """Return the places where the variable of its only assignment is read."""
    bindings = facts.evaluator.scopes.bindings
    (target,) = assignment.targets
    assert isinstance(target, ast.Name)
    nodes = (node for node in facts.flows.parents if isinstance(node, ast.Name))
    same = (node for node in nodes if node.id == target.id and node is not target)
    return {node for node in same if bindings(node) == bindings(target)}


def _only_assignment(node: ast.AST, facts: FileFacts) -> ast.Assign | None:
    """Return the assignment of a node to a variable of this file that gets no other value."""
    statement = facts.flows.parents[node]
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or len(facts.evaluator.scopes.bindings(target)) > 1:
        return None
    may_be_imported = facts.beside.linked and facts.layout.is_of_module(statement)
    return None if may_be_imported else statement


def _may_read_platform(reads: list[_Read], facts: FileFacts) -> bool:
    """True if the program may read the platform of a configuration, or print it.

    The platform of models with a backend is empty on servers of today.
    """
    if "platform" in facts.flows.attributes | facts.beside.taken:
        return True
    results = (result for read, _, _ in reads for result in facts.results(read))
    return any(map(facts.is_printed, results))


def _model(call: ast.Call, facts: FileFacts, contexts: Group) -> str | None:
    """Return the model of the contexts, '' for none. None: it has no name that is known here."""
    models = set()
    for item in contexts.creations:
        name = call_arguments(PARAMETERS["TS025"], item).get("model_name")
        if name is None or facts.constant(name) is None:
            models.add("")
        elif same_at(name, call, facts):
            models.add(facts.text(name))
        else:
            return None
    return models.pop() if len(models) == 1 else None


def state(node: ast.AST, facts: FileFacts) -> Plan:
    """``server_status_pb2.MODEL_READY``, ``ModelReadyState.Name(number)`` → of the helpers."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return unchanged("import")
    name = last_name(node)
    arguments = getattr(node, "args", [])
    form = ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "Name":
            form = _NAMES.get(last_name(node.func.value), "")
        elif node.func.attr == "Value" and len(arguments) == 1:
            name, arguments = str(facts.constant(arguments[0])), []
    if name.isupper():  # codes of requests have no common start
        is_plain = name.startswith(("MODEL_", "SERVER_", "SUCCESS"))
        form = f"{{{name}}}" if is_plain else f"{{RequestStatusCode}}.{name}"
    if not form or form.count("{0}") != len(arguments):
        raise Refused("do without v1's messages: no server has them")
    return rewrite(node, form, *arguments, what="a state or code of the helpers")

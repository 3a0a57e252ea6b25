"""TS026 (and TS004): a server's status → a question for each thing that is read of it.

The variable that had the status has the client now, unless the client's own can be used.
"""

from __future__ import annotations

import ast

import libcst as cst
from libcst import matchers

from tritonclient_shim.migrate import hints
from tritonclient_shim.migrate.values import STATUS
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.rules.methods import with_method
from tritonclient_shim.rewrite.rules.models import Carried
from tritonclient_shim.rewrite.rules.plan import Plan
from tritonclient_shim.rewrite.rules.status_parts import parts

_METADATA = {"id": "name", "version": "version"}
_CLIENT = "client_"  # where an expression for the client comes later
_READY = ("SERVER_READY", "MODEL_READY")


def status(call: ast.Call, draft: Draft, carried: Carried | None) -> Plan:
    """``get_server_status()``, with everything that is read of its result."""
    group = draft.flows.group(STATUS, call)
    if group is None:
        return Plan(lambda: draft.change(call, _metadata), "get_server_metadata")
    for node, reason in group.escapes:
        line = getattr(node, "lineno", 0)
        raise Refused(f"the whole status is used in line {line}, where {reason}")
    if group.calls:
        raise Refused("a method of the status is called")
    try:
        return _questions(call, [_read(node, draft) for node in group.taken], draft)
    except Refused:
        return parts(call, group, draft)


def _metadata(old: cst.Call) -> cst.Call:
    return with_method(old, "get_server_metadata")


def _questions(call: ast.Call, reads: list[_Read], draft: Draft) -> Plan:
    """A question for each thing that is read, at the place where it is."""
    if any(draft.tried(one.node) is not draft.tried(call) for one in reads):
        raise Refused("its error is waited for, and what is read may raise others")
    if not reads and isinstance(draft.flows.parents[call], ast.Expr):
        if draft.is_tried(call):
            raise Refused("a server that does not know the model says so in an error")
        return Plan(lambda: draft.change(call, _metadata), "get_server_metadata")
    unsafe = next((one.unsafe for one in reads if one.unsafe), "")

    def carry_out() -> None:
        draft.change(call, _client)
        for one in reads:
            one.rewrite(draft)

    return Plan(carry_out, "a question for each thing that is read", unsafe)


def _client(old: cst.Call) -> cst.BaseExpression:
    assert isinstance(old.func, cst.Attribute)
    return old.func.value


def _filled(made: cst.BaseExpression, client: list[cst.BaseExpression]) -> cst.CSTNode:
    """The expression, with the client in its place if it is the result of a call."""
    if not client:
        return made
    found = matchers.replace(made, matchers.Name(_CLIENT), client[0])
    assert isinstance(found, cst.CSTNode)
    return found


class _Read:
    """Something that is read of a status: the outermost node of it, and what it becomes.

    ``text`` has ``{client}`` for the client and ``{0}``, ``{1}`` for the keys.
    """

    def __init__(
        self, node: ast.expr, owner: ast.expr, text: str, keys: list[ast.expr], helper: str = ""
    ) -> None:
        self.node, self.owner, self.text, self.keys, self.helper = node, owner, text, keys, helper
        self.unsafe = "" if "is_model_ready" not in text else "a model may be there and not ready"
        self.consumed: list[ast.expr] = []
        self.same: list[ast.Attribute] = []  # attributes whose owner takes their place

    def rewrite(self, draft: Draft) -> None:
        """Change the node."""
        if self.helper:
            draft.need(self.helper)
        keys = [draft.text(key) for key in self.keys]
        is_call = isinstance(self.owner, ast.Call)  # which is changed, too, before what is around
        text = self.text.format(
            *keys,
            client=_CLIENT if is_call else draft.text(self.owner),
            helper=draft.called(self.helper),
        )
        made = draft.edits.expression(text)
        client: list[cst.BaseExpression] = []
        if is_call:

            def keep(old: cst.BaseExpression) -> cst.BaseExpression:
                client.append(old)
                return old

            draft.edits.change(draft.places.of(self.owner), keep)
        draft.edits.change(draft.places.of(self.node), lambda old: _filled(made, client))
        for attribute in self.same:
            draft.edits.change(draft.places.of(attribute), lambda old: old.value)
        for site in draft.sites:
            if any(site.node is one for one in self.consumed):
                draft.note(site.node, draft.state(self.unsafe), "part of the status")


def _read(node: ast.Attribute, draft: Draft) -> _Read:
    parent = draft.flows.parents[node]
    if node.attr in _METADATA:
        text = f"{{helper}}({{client}}).{_METADATA[node.attr]}"
        return _Read(node, node.value, text, [], "server_metadata")
    if node.attr == "ready_state":
        return _ready(node, node.value, "{client}.is_server_ready()", [], draft)
    if node.attr == "model_status" and isinstance(parent, ast.Compare) and len(parent.ops) == 1:
        text = "{client}.is_model_ready({0})"
        is_in = isinstance(parent.ops[0], ast.In)
        return _Read(parent, node.value, text if is_in else f"not {text}", [parent.left])
    if node.attr == "model_status" and isinstance(parent, ast.Subscript):
        return _model(parent, node.value, draft)
    raise Refused(f"{node.attr} of a status has no successor")


def _model(entry: ast.Subscript, owner: ast.expr, draft: Draft) -> _Read:
    """``status.model_status[name]…``."""
    name = hints.index(entry)
    part = draft.flows.parents[entry]
    if isinstance(part, ast.Attribute) and part.attr == "config":
        return _config(part, owner, name)
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
        return _variable(part.targets[0], _config(entry, owner, name), draft)
    versions = draft.flows.parents[part] if isinstance(part, ast.Attribute) else None
    if isinstance(versions, ast.Subscript) and getattr(part, "attr", "") == "version_status":
        state = draft.flows.parents[versions]
        version = hints.index(versions)
        if isinstance(state, ast.Attribute) and state.attr == "ready_state":
            text = "{client}.is_model_ready({0}, str({1}))"
            return _ready(state, owner, text, [name, version], draft)
    raise Refused("what is read of a model's status has no successor")


def _config(node: ast.expr, owner: ast.expr, name: ast.expr) -> _Read:
    return _Read(node, owner, "{helper}({client}, {0})", [name], "config_of")


def _variable(target: ast.Name, read: _Read, draft: Draft) -> _Read:
    """A variable that has had a model's status, of which only the configuration is read."""
    for one in ast.walk(draft.source.tree):
        if not isinstance(one, ast.Name) or one.id != target.id or type(one.ctx) is not ast.Load:
            continue
        definitions = [binding.definition.node for binding in draft.in_force(one)]
        if read.node not in definitions:
            continue
        attribute = draft.flows.parents[one]
        if len(definitions) > 1 or not _is_config(attribute):
            raise Refused("more than the configuration is read of a model's status")
        assert isinstance(attribute, ast.Attribute)
        read.same.append(attribute)
    return read


def _is_config(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "config"


def _ready(
    node: ast.Attribute, owner: ast.expr, text: str, keys: list[ast.expr], draft: Draft
) -> _Read:
    """``… == SERVER_READY``: whether it is ready."""
    parent = draft.flows.parents[node]
    if isinstance(parent, ast.Compare) and len(parent.ops) == 1:
        other = parent.comparators[0] if parent.left is node else parent.left
        name = getattr(other, "attr", getattr(other, "id", ""))
        is_equal = isinstance(parent.ops[0], ast.Eq)
        if name in _READY and isinstance(parent.ops[0], (ast.Eq, ast.NotEq)):
            found = _Read(parent, owner, text if is_equal else f"not {text}", keys)
            found.consumed = [other]
            return found
    raise Refused("only whether it is ready can be asked")

"""TS026 (and TS004): a status of which a few parts are read, here and there → an object with these.

What is read is followed from expression to expression: attributes, entries, loops and variables.
"""

from __future__ import annotations

import ast
from typing import Mapping

from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.rewrite.calls import NewArgument, NewCall, given, owner
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import Group
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.repeating import same_at
from tritonclient_shim.rewrite.rules.plan import Plan

_VALUE = "value"  # a number, a text, a configuration: the program may do with it what it likes
COUNTS = ("model_execution_count", "model_inference_count")
#: What the object has: a value, another kind of object, or a mapping ("{}") to such objects.
_PARTS: Mapping[str, Mapping[str, str]] = {
    "status": {"id": _VALUE, "version": _VALUE, "ready_state": _VALUE, "model_status": "{}model"},
    "model": {"config": _VALUE, "version_status": "{}version"},
    "version": dict.fromkeys(("ready_state", *COUNTS), _VALUE),
}
_VIEWS = {"values": "[]", "items": "[,]", "keys": ""}
_PAIRS_OF, _ROWS_OF = frozenset({"iteritems"}), frozenset({"itervalues"})  # of future.utils
_SAME_ROWS = frozenset({"sorted", "list", "tuple", "reversed", "iter"})
_HARMLESS = frozenset({"len", "bool", "set", "iterkeys", "assertIn", "assertNotIn", *_SAME_ROWS})
_TESTS = (ast.Compare, ast.If, ast.While, ast.UnaryOp, ast.BoolOp, ast.Assert, ast.Expr)
_LOOPS = (ast.For, ast.comprehension)


def parts(call: ast.Call, group: Group, draft: Draft) -> Plan:
    """``get_server_status()`` → ``server_status(client)``, a function of the file."""
    reader = _StatusReader(draft)
    for node in group.taken:
        reader.attribute(node, "status")
    if reader.config and _reads_platform(draft):
        raise Refused("a platform is read of a configuration, which may have a backend instead")
    name = _model_name(call, draft)
    after: list[NewArgument] = [draft.text(name)] if name is not None else []

    def carry_out() -> None:
        draft.need("server_status", *(["config_of"] if reader.config else []))
        function = draft.called("server_status")
        draft.change(call, NewCall((), function, [owner], {}, after))

    return Plan(carry_out, "server_status(client)")


def _reads_platform(draft: Draft) -> bool:
    nodes = (one for one in ast.walk(draft.source.tree) if isinstance(one, ast.Attribute))
    return any(one.attr == "platform" and getattr(one.value, "id", "") != "sys" for one in nodes)


def _model_name(call: ast.Call, draft: Draft) -> ast.expr | None:
    """The model that the context was made for, of which alone it tells."""
    assert isinstance(call.func, ast.Attribute)
    made = {one for group in draft.flows.of(call.func.value) for one in group.made}
    names = [given(PARAMETERS["TS025"], one).get("model_name") for one in made]
    if all(draft.constant(one) is None for one in names):
        return None
    if len(names) > 1 or names[0] is None or not same_at(names[0], call, draft):
        raise Refused("the model that it is of is only known where the context is made")
    return names[0]


class _StatusReader:
    """Follows what is read of a status; refused where it is more than the object has."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._seen: set[ast.AST] = set()
        self.config = False  # a configuration is read

    def attribute(self, node: ast.Attribute, kind: str) -> None:
        """An attribute of an object."""
        found = _PARTS[kind].get(node.attr)
        if found is None:
            raise Refused(f"{node.attr} of a status has no successor")
        self.config = self.config or node.attr == "config"
        self._follow(node, found)

    def _follow(self, node: ast.AST, kind: str) -> None:
        parent = self._draft.flows.parents[node]
        if kind in ("", _VALUE) or node in self._seen:
            return
        self._seen.add(node)
        if isinstance(parent, ast.Assign) and parent.value is node:
            for target in parent.targets:
                self._variable(target, kind)
        elif kind.startswith("["):
            self._rows(node, parent, kind)
        elif kind.startswith("{}"):
            self._mapping(node, parent, kind[2:])
        elif isinstance(parent, ast.Attribute):
            self.attribute(parent, kind)
        else:
            raise Refused("more is done with a part of a status than to read it")

    def _mapping(self, node: ast.AST, parent: ast.AST, kind: str) -> None:
        outer = self._draft.flows.parents[parent]
        if isinstance(parent, ast.Attribute) and isinstance(outer, ast.Call):
            if parent.attr in _VIEWS:
                view = _VIEWS[parent.attr]
                self._follow(outer, view and view + kind)
            elif parent.attr == "get" and len(outer.args) == 1:
                self._follow(outer, kind)
            else:
                raise Refused(f"{parent.attr}() of a part of a status has no successor")
        elif isinstance(parent, ast.Subscript) and parent.value is node:
            self._follow(parent, kind)
        elif _is_call_of(parent, _PAIRS_OF):
            self._follow(parent, f"[,]{kind}")
        elif _is_call_of(parent, _ROWS_OF):
            self._follow(parent, f"[]{kind}")
        elif not isinstance(parent, (*_TESTS, *_LOOPS)) and not _is_call_of(parent, _HARMLESS):
            raise Refused("more is done with a part of a status than to read it")

    def _rows(self, node: ast.AST, parent: ast.AST, kind: str) -> None:
        pairs, element = kind.startswith("[,]"), kind.partition("]")[2]
        if isinstance(parent, _LOOPS) and parent.iter is node:
            target = parent.target
            if pairs and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                target = target.elts[1]
            elif pairs:
                raise Refused("pairs of a status are not told apart")
            self._variable(target, element)
        elif _is_call_of(parent, _SAME_ROWS):
            self._follow(parent, kind)
        elif isinstance(parent, ast.Subscript) and not pairs:
            self._follow(parent, element)
        elif not _is_call_of(parent, _HARMLESS):
            raise Refused("more is done with a part of a status than to read it")

    def _variable(self, target: ast.expr, kind: str) -> None:
        """Every place where a variable of this name is read."""
        if not isinstance(target, ast.Name):
            raise Refused("a part of a status is kept in something else than a variable")
        places = self._draft.evaluator.scopes.places
        own = places[target].scope.owner(target.id)
        names = (one for one in places if isinstance(one, ast.Name) and one.id == target.id)
        for one in names:
            if type(one.ctx) is ast.Load and places[one].scope.owner(one.id) is own:
                self._follow(one, kind)


def _is_call_of(node: ast.AST, names: frozenset[str]) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", getattr(function, "attr", "")) in names


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


_ENUMS = {"SERVER": "ServerReadyState", "MODEL": "ModelReadyState"}

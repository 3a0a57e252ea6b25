"""The model of an ``InferContext``: its name, version and options, where a request is made.

They belong to the calls now. Where the expressions that the context was made with mean the same at
each call, they are repeated; else the file gets a record, ``Model``, of client, name and options.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Mapping

from tritonclient_shim.migrate.patterns import PARAMETERS
from tritonclient_shim.migrate.scopes import spelt
from tritonclient_shim.rewrite.calls import given
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import CLOSING, Group
from tritonclient_shim.rewrite.options import Refused
from tritonclient_shim.rewrite.repeating import same_at
from tritonclient_shim.rewrite.threads import crosses

_Made = Mapping[str, ast.expr]


@dataclass(frozen=True)
class Carried:
    """How the requests of a group of contexts know their model."""

    group: Group
    draft: Draft
    record: bool

    @property
    def name_node(self) -> ast.expr:
        """The expression for the model's name where the first of the contexts is made."""
        return self._first["model_name"]

    def name(self) -> str:
        """The expression for the model's name, where the expressions are repeated."""
        return _text(self.draft, self._first["model_name"])

    def options(self) -> dict[str, str]:
        """Parameter of ``infer`` → its expression."""
        return options_of(self._first, self.draft)

    @property
    def has_options(self) -> bool:
        """Whether requests of any context of the group have options besides their own."""
        return any(options_of(one, self.draft) for one in _arguments(self.group))

    @property
    def stream(self) -> str:
        """The expression for whether the requests go over a stream; '' where none does."""
        return stream_of(self._first, self.draft)

    @property
    def streams(self) -> bool:
        """Whether any context of the group may have a stream."""
        return any(stream_of(one, self.draft) for one in _arguments(self.group))

    @property
    def starts(self) -> bool:
        """Whether asynchronous requests are made."""
        return any(getattr(call.func, "attr", "") in _STARTING for call in self.group.calls)

    @property
    def asks(self) -> bool:
        """True if the program asks what the last request was."""
        return any(getattr(call.func, "attr", "") in _ASKING for call in self.group.calls)

    @property
    def shared(self) -> bool:
        """Whether several threads may use the client, which over HTTP is not for that."""
        return self.starts or crosses(self.group, self.draft)

    @property
    def _first(self) -> _Made:
        call = min(self.group.made, key=lambda one: (one.lineno, one.col_offset))
        return given(PARAMETERS["TS050"], call)


def stream_of(made: _Made, draft: Draft) -> str:
    """The expression for whether a context has a stream; '' where it has none."""
    streaming = made.get("streaming")
    if streaming is None or draft.constant(streaming) in (None, False, 0):
        return ""
    return draft.text(streaming)


def _arguments(group: Group) -> list[_Made]:
    return [given(PARAMETERS["TS050"], call) for call in group.made]


def carried(group: Group, draft: Draft) -> Carried:
    """Find how the requests of a group can know their model."""
    made = _arguments(group)
    for one in made:
        if "model_name" not in one:
            raise Refused("the model's name is not among the arguments")
    if not draft.options.to and _has_sequences(group, draft) and _large(draft):
        raise Refused("sequence ids go up to 2**63 - 1 on gRPC, and the file has larger numbers")
    carrying = Carried(group, draft, _needs_record(group, draft, made))
    if carrying.record:
        for call in group.calls:
            assert isinstance(call.func, ast.Attribute)
            once = call.func.attr in ("run", *_OF_RECORD)  # where the context is written once
            if not once and not is_simple(call.func.value):
                raise Refused("the context's model is only known where the context is made")
    return carrying


def _has_sequences(group: Group, draft: Draft) -> bool:
    """Whether requests of the group have correlation ids."""
    calls = {*group.made, *group.calls}
    return any(site.id in ("TS105", "TS111") and site.call in calls for site in draft.sites)


def _large(draft: Draft) -> bool:
    """Whether the file has a number that is no signed one of 64 bits, such as ``2 ** 63``."""
    for node in ast.walk(draft.source.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift)):
            left, right = draft.constant(node.left), draft.constant(node.right)
            if isinstance(right, int) and left in (1, 2) and int(right) >= 63:
                return True
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, int) and value >= 2**63:
            return True
    return False


def sequence_id(node: ast.expr, draft: Draft) -> str:
    """The expression for a sequence's id: gRPC has signed numbers, HTTP none of NumPy's."""
    text = draft.text(node)
    if signs_ids(draft):
        draft.need("signed_id")
        return f"{draft.called('signed_id')}({text})"
    return f"int({text})" if draft.options.to != "grpc" and _is_of_numpy(node, draft) else text


def _is_of_numpy(node: ast.expr, draft: Draft) -> bool:
    """Whether a number is made by NumPy, here or where its variable is bound."""
    if isinstance(node, ast.Name):
        made = (one.definition.node for one in draft.in_force(node))
        return any(isinstance(one, ast.Call) and _is_of_numpy(one, draft) for one in made)
    called = isinstance(node, ast.Call) and spelt(node.func).partition(".")[0] in ("np", "numpy")
    return called or any(_is_of_numpy(one, draft) for one in _operands(node))


def _operands(node: ast.expr) -> list[ast.expr]:
    return [node.left, node.right] if isinstance(node, ast.BinOp) else []


def signs_ids(draft: Draft) -> bool:
    """Whether sequences have ids on gRPC that are too large for it."""
    return draft.options.to == "grpc" and _large(draft)


def options_of(made: _Made, draft: Draft) -> dict[str, str]:
    """The arguments of a context → those of each of its requests."""
    found = {}
    version = made.get("model_version")
    known = draft.constant(version)
    if known is ...:
        assert version is not None
        draft.need("version_text")
        found["model_version"] = f"{draft.called('version_text')}({draft.text(version)})"
    elif isinstance(known, int) and int(known) >= 0:
        found["model_version"] = f'"{int(known)}"'
    correlation = made.get("correlation_id")
    if correlation is not None and draft.constant(correlation) not in (0, None, False):
        found["sequence_id"] = sequence_id(correlation, draft)
    return found


def _text(draft: Draft, node: ast.expr) -> str:
    known = draft.constant(node)
    plain = known is ... or isinstance(node, (ast.Name, ast.Constant))
    return draft.text(node) if plain else repr(known)


def _needs_record(group: Group, draft: Draft, made: list[_Made]) -> bool:
    parameters = ["model_name", "model_version", "correlation_id"]
    parameters += ["streaming"] if Carried(group, draft, False).starts else []
    return not all(_repeatable(name, group, draft, made) for name in parameters)


def _repeatable(name: str, group: Group, draft: Draft, made: list[_Made]) -> bool:
    nodes = [one.get(name) for one in made]
    texts = {node and draft.text(node) for node in nodes}
    constants = [draft.constant(node) for node in nodes]
    literal = all(isinstance(node, ast.Constant) or node is None for node in nodes)
    if ... not in constants and len({repr(one) for one in constants}) == 1 and literal:
        return True
    if len(texts) != 1 or nodes[0] is None:
        return False
    uses = [call for call in group.calls if _asks(call)]
    return all(
        _visible(node, use, call, draft)
        for node, call in zip(nodes, group.made)
        for use in uses
        if node is not None
    )


def _visible(node: ast.expr, use: ast.Call, made: ast.Call, draft: Draft) -> bool:
    chained = isinstance(use.func, ast.Attribute) and use.func.value is made
    return chained or same_at(node, use, draft)


def _asks(call: ast.Call) -> bool:
    """Whether a method needs to know the model."""
    return isinstance(call.func, ast.Attribute) and call.func.attr not in _WITHOUT_MODEL


_ASKING = frozenset(
    ("get_stat", "get_last_request_id")
    + ("get_last_request_model_name", "get_last_request_model_version")
)
_STARTING = frozenset({"async_run", "async_run_with_cb"})
_OF_RECORD = (*CLOSING, "__enter__")
_WITHOUT_MODEL = frozenset(
    ("get_async_run_results", "get_ready_async_request")
    + ("get_stat", "get_last_request_model_version", *_OF_RECORD)
)


def is_simple(node: ast.AST) -> bool:
    """Whether an expression can be written down more than once."""
    if isinstance(node, ast.Subscript):
        return is_simple(node.value)
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and is_simple(node.value)

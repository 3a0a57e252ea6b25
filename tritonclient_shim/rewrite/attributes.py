"""Clients that a function keeps in attributes of an object: made alike, they become one."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Mapping

from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.flows import CLOSING, Group
from tritonclient_shim.rewrite.sharing import alike
from tritonclient_shim.rewrite.variables import Block, Blocks

#: Methods of contexts for which something is kept for each client, such as numbers of requests.
_KEEPING = frozenset(
    ("async_run", "async_run_with_cb", "get_async_run_results", "get_ready_async_request")
    + ("get_stat", "get_last_request_id", "get_last_request_model_name")
    + ("get_last_request_model_version",)
)


@dataclass(frozen=True)
class _Kept:
    """A client in an attribute: what makes it, and what is done with it."""

    made: ast.Call
    target: ast.Attribute
    is_record: bool
    group: Group  # of the context whose place it takes
    closes: list[ast.Expr]

    @property
    def client(self) -> ast.Call:
        """The call that makes the client itself."""
        first = self.made.args[0] if self.is_record else self.made
        assert isinstance(first, ast.Call)
        return first


def share(
    draft: Draft, first: Draft, contexts: Mapping[ast.Call, ast.Call], blocks: Blocks
) -> dict[ast.Call, ast.Call]:
    """Have clients stand for others in later attributes → each of these: the earlier one.

    ``first`` and ``contexts``: as ``clients.tidied`` has them.
    """
    found: dict[ast.Call, ast.Call] = {}
    groups: list[list[_Kept]] = []
    for call, context in contexts.items():
        one = _kept(call, context, draft, first)
        if one is None:
            continue
        for group in groups:
            if _fits(one, group, draft, blocks):
                group.append(one)
                break
        else:
            groups.append([one])
    for earliest, *others in groups:
        text = draft.text(earliest.target) + (".client" if earliest.is_record else "")
        for other in others:
            draft.replace(other.client, text)
            found[other.made] = earliest.made
            for statement in other.closes:
                draft.edits.dropped.add(draft.statement(statement.value))
    return found


def _kept(call: ast.Call, context: ast.Call, draft: Draft, first: Draft) -> _Kept | None:
    """A client of which all uses are known; None for another."""
    parent = draft.flows.parents[call]
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    target = targets[0] if len(targets) == 1 else None
    group = next((one for one in first.flows.groups if one.made == {context}), None)
    if group is None or not isinstance(target, ast.Attribute):
        return None
    frame = draft.evaluator.scopes.places[target].scope.frame
    bound = [
        binding
        for _, binding in draft.evaluator.scopes.attributes.get(target.attr, ())
        if binding.place.scope.frame is frame
    ]
    closing = sum(getattr(one.func, "attr", "") in CLOSING for one in group.calls)
    closes = _closes(target.attr, draft)
    if len(bound) != 1 or group.managed or group.taken or closing != len(closes):
        return None
    is_record = getattr(call.func, "id", "") == draft.called("Model")
    return _Kept(call, target, is_record, group, closes)


def _closes(attribute: str, draft: Draft) -> list[ast.Expr]:
    """The statements that close what an attribute has."""
    statements = (one for one in ast.walk(draft.source.tree) if isinstance(one, ast.Expr))
    called = ((one, getattr(one.value, "func", None)) for one in statements)
    methods = ((one, node) for one, node in called if isinstance(node, ast.Attribute))
    return [
        one
        for one, node in methods
        if node.attr == "close" and getattr(node.value, "attr", "") == attribute
    ]


def _fits(one: _Kept, group: list[_Kept], draft: Draft, blocks: Blocks) -> bool:
    """Whether the first client of a group can do what another one does."""
    earliest = group[0]
    frame = draft.evaluator.scopes.places[one.target].scope.frame
    if not _for_all_threads(one, draft) or len(earliest.closes) != len(one.closes):
        return False
    if ast.dump(earliest.client.func) != ast.dump(one.client.func):
        return False  # one of them has clients for its threads
    if one.closes and not _together([*group, one], blocks):
        return False
    keeping = [kept for kept in (*group, one) if _keeps(kept)]
    return len(keeping) < 2 and alike(earliest.client, one.client, frame, draft, blocks)


def _for_all_threads(one: _Kept, draft: Draft) -> bool:
    """Whether no two threads use a client over HTTP, which none may share with another."""
    names = {node.id for node in ast.walk(one.client) if isinstance(node, ast.Name)}
    return "grpcclient" in names or not draft.in_threads


def _together(group: list[_Kept], blocks: Blocks) -> bool:
    """Whether clients are closed once, one after the other."""
    if any(len(one.closes) != 1 for one in group):
        return False
    statements = [one.closes[0] for one in group]
    block: Block = blocks.of[statements[0]][0]
    places = sorted(block.index(one) for one in statements if one in block)
    return places == list(range(places[0], places[0] + len(group)))


def _keeps(one: _Kept) -> bool:
    """True if something is kept for a client that would be another one's, too."""
    called = {getattr(call.func, "attr", "") for call in one.group.calls}
    return bool(called & _KEEPING)

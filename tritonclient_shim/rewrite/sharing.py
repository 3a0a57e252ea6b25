"""Clients that are made alike in one function become one, as far as nothing can notice."""

from __future__ import annotations

import ast
from typing import Iterable

import libcst as cst

from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.scopes import Scope
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.edits import Change
from tritonclient_shim.rewrite.variables import Blocks, Variable

#: Functions of the file that keep something for each client, such as the numbers of requests.
_KEEPING = frozenset(("start_run", "run_results", "ready_request"))
_REPEATABLE = (ast.Constant, ast.Name, ast.Attribute, ast.Load, ast.keyword)


def share(draft: Draft, variables: list[Variable], blocks: Blocks) -> dict[Variable, Variable]:
    """Leave out clients that an earlier one can stand for → each of these: the earlier one."""
    groups: list[list[Variable]] = []
    for variable in variables:
        if not _can_be_shared(variable):
            continue
        for group in groups:
            if _fits(variable, group, draft, blocks):
                group.append(variable)
                break
        else:
            groups.append([variable])
    found: dict[Variable, Variable] = {}
    for first, *others in groups:
        if others:
            _join(first, others, draft, blocks)
            found.update(dict.fromkeys(others, first))
    return found


def _can_be_shared(variable: Variable) -> bool:
    """Whether all that is done with a client is seen, in the function where it is made."""
    unclear = variable.unknown or variable.closed or variable.deleted
    if unclear or not variable.only_clients or len(variable.made) > 1:
        return False
    names = {one.id for one in ast.walk(variable.made[0]) if isinstance(one, ast.Name)}
    return not variable.nested or "grpcclient" in names  # which all threads may use


def _fits(variable: Variable, group: list[Variable], draft: Draft, blocks: Blocks) -> bool:
    """Whether the first client of a group can do what another one does."""
    first = group[0]
    if first.scope is not variable.scope or first.scope.frame is not first.scope:
        return False  # of another function, or of the body of a class
    keeping = [one for one in (*group, variable) if _keeps(one)]
    return len(keeping) < 2 and alike(first.made[0], variable.made[0], first.scope, draft, blocks)


def alike(first: ast.Call, call: ast.Call, frame: Scope, draft: Draft, blocks: Blocks) -> bool:
    """Whether a client is made as an earlier one of its function is, which is there in any case."""
    start = blocks.statement(first)
    block = blocks.of[start][0]
    end = blocks.inside(block, call)
    if _key(first) != _key(call) or end is None or block.index(end) <= block.index(start):
        return False
    between = block[block.index(start) : block.index(end) + 1]
    return _is_same(first, between, frame, draft)


def _key(call: ast.Call) -> str:
    """What a client is made with; '' for a Model, whose name of a model is its own."""
    function = call.func
    if isinstance(function, ast.Name) and function.id.startswith("connect"):
        function = ast.Attribute(call.args[0], "InferenceServerClient", ast.Load())
        call = ast.Call(function, call.args[1:], call.keywords)
    elif isinstance(function, ast.Name) and function.id.startswith(("Model", "RememberingClient")):
        return f"{call.lineno}:{call.col_offset}"
    return ast.dump(call)


def _keeps(variable: Variable) -> bool:
    """True if something is kept for a client that would be another one's, too."""
    functions = {getattr(call.func, "id", "").rstrip("_") for call, _ in variable.uses}
    return bool(functions & _KEEPING)


def _is_same(call: ast.Call, between: list[ast.stmt], frame: Scope, draft: Draft) -> bool:
    """Whether the arguments of a client are what they were when later statements are reached."""
    arguments = [*call.args, *call.keywords]
    parts = [part for one in arguments for part in ast.walk(one)]
    calls = [one for one in parts if isinstance(one, ast.Call)]
    inner = {id(part) for one in calls for part in ast.walk(one.func)}
    known = (*_REPEATABLE, ast.Call)
    if len(calls) > 1 or not all(isinstance(one, known) or id(one) in inner for one in parts):
        return False
    names = [one for one in ast.walk(call) if isinstance(one, ast.Name)]
    attributes = {one.attr for one in parts if isinstance(one, ast.Attribute)}
    stores = [node for one in between for node in ast.walk(one) if _stores(node)]
    if any(getattr(one, "id", "") in {name.id for name in names} for one in stores):
        return False
    if any(getattr(one, "attr", "") in attributes for one in stores):
        return False
    return not _rebound_elsewhere(names, attributes, frame, draft.evaluator)


def _stores(node: ast.AST) -> bool:
    kinds = (ast.Name, ast.Attribute)
    return isinstance(node, kinds) and not isinstance(node.ctx, ast.Load)


def _rebound_elsewhere(
    names: Iterable[ast.Name], attributes: set[str], frame: Scope, evaluator: Evaluator
) -> bool:
    """Whether another function binds what the arguments read, and may be called in between."""
    places = evaluator.scopes.places
    for name in names:
        owner = places[name].scope.owner(name.id)
        for binding in owner.bindings[name.id] if owner else ():
            if owner and binding.place.scope.frame not in (owner.frame, frame):
                return True
    for attribute in attributes:
        for _, binding in evaluator.scopes.attributes.get(attribute, ()):
            function = binding.place.scope.frame
            if function is not frame and getattr(function.node, "name", "") != "__init__":
                return True
    return False


def _join(first: Variable, others: list[Variable], draft: Draft, blocks: Blocks) -> None:
    """Make one variable of several."""
    taken = {getattr(node, "id", getattr(node, "arg", "")) for node in ast.walk(draft.source.tree)}
    taken |= draft.evaluator.scopes.module.bindings.keys()
    name = first.name if "client" in taken else "client"
    for variable in (first, *others):
        for node in variable.nodes:
            draft.edits.change(draft.places.of(node), lambda old: old.with_changes(value=name))
    for variable in others:
        call = variable.made[0]
        draft.edits.dropped.add(draft.places.statement(draft.places.of(call)))
        if getattr(call.func, "id", "").startswith("connect"):
            made = draft.edits.expression(draft.text(call))
            draft.edits.change(draft.places.of(first.made[0]), _replacement(made))
        first.uses += variable.uses
        first.places += [*variable.places, *variable.made]
    first.name = name


def _replacement(made: cst.BaseExpression) -> Change:
    return lambda old: made

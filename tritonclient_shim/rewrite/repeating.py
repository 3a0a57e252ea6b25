"""Decide if an expression has equal values at the creation and at the use of a context."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.scopes import Binding, reaching
from tritonclient_shim.rewrite.draft import Draft

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.List, ast.Tuple)


def same_at(node: ast.expr, use: ast.Call, draft: Draft) -> bool:
    """True if an argument of a context can be repeated at a use of the context.

    Attributes of objects may change between functions.
    """
    places = draft.evaluator.scopes.places
    parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
    names = [part for part in parts if isinstance(part, ast.Name)]
    has_attributes = any(isinstance(part, ast.Attribute) for part in parts)
    if not all(isinstance(part, _PLAIN) for part in parts):
        return False
    if has_attributes and places[node].scope is not places[use].scope:
        return all(draft.evaluator.names(part) for part in parts if isinstance(part, ast.Attribute))
    between = _between(node, use, draft)
    return all(_same_name(name, use, between, draft) for name in names)


def _same_name(node: ast.Name, use: ast.Call, between: set[ast.AST] | None, draft: Draft) -> bool:
    places = draft.evaluator.scopes.places
    at_node, at_use = places[node], places[use]
    owner = at_node.scope.owner(node.id)
    if at_use.scope.owner(node.id) is not owner:
        return False
    if owner is None:
        return True  # a builtin, or bound by a star import
    bindings = owner.bindings[node.id]
    if between is not None and all(item.place.scope is at_use.scope for item in bindings):
        return not any(
            at_node.order < item.order < at_use.order
            or any(block in between for block, _ in item.place.path)
            for item in bindings
        )
    values = list(filter(_counts, bindings))
    return len(values) < 2 and not any(map(_is_of_a_loop, values))


def _between(node: ast.expr, use: ast.Call, draft: Draft) -> set[ast.AST] | None:
    """Return the nodes around a use, but not around its context; None if they may not be paired.

    They are paired if each use comes after the only assignment of the context to its variable.
    """
    scopes, around = draft.evaluator.scopes, list(draft.flows.around(node))
    at_node, at_use = scopes.places[node], scopes.places[use]
    creation = next(part for part in around if isinstance(part, ast.Call))
    owner = getattr(use.func, "value", None)
    is_in_block = at_use.path[: len(at_node.path)] == at_node.path
    if at_use.scope is not at_node.scope or not is_in_block or at_node.order > at_use.order:
        return None
    if owner is not creation:
        bound = reaching(scopes.bindings(owner), at_use) if isinstance(owner, ast.Name) else []
        if [item.definition.node for item in bound] != [creation] or bound[0].definition.steps:
            return None
    return set(draft.flows.around(use)).difference(around)


def _is_of_a_loop(binding: Binding) -> bool:
    """True if a binding gives another value in each turn of a loop."""
    blocks = (owner for owner, _ in binding.place.path)
    return any(isinstance(block, _LOOPS) for block in blocks) or (
        binding.definition.steps[:1] == (None,)
    )


def _counts(binding: Binding) -> bool:
    """True if a binding has a value other than None, unlike ``FLAGS = None``."""
    node = binding.definition.node
    return not (isinstance(node, ast.Constant) and node.value is None)

"""Decide if an expression has equal values at the creation and at the use of a context."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.scopes import Binding, index, reaching
from tritonclient_shim.migrate.values import LocalInstance
from tritonclient_shim.rewrite.draft import Draft

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def same_at(node: ast.expr, use: ast.Call, draft: Draft) -> bool:
    """True if an argument of a context can be repeated at a use of the context."""
    parts = [element for element in ast.walk(node) if isinstance(element, ast.expr)]
    known = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.List, ast.Tuple)
    if not all(isinstance(node, known) or _is_element(node) for node in parts):
        return False
    owners = {id(node.value) for node in parts if isinstance(node, ast.Attribute)}
    names = [node for node in parts if isinstance(node, ast.Name) and id(node) not in owners]
    attributes = [
        node for node in parts if isinstance(node, ast.Attribute) and id(node) not in owners
    ]
    return all(_same_name(name, use, draft) for name in names) and all(
        _same_attribute(item, use, draft) for item in attributes
    )


def _is_element(node: ast.expr) -> bool:
    """True if an expression is an element by its index, as of a tuple."""
    key = index(node) if isinstance(node, ast.Subscript) else None
    return isinstance(key, ast.Constant) and isinstance(key.value, int)


def _same_name(node: ast.Name, use: ast.Call, draft: Draft) -> bool:
    places = draft.evaluator.scopes.places
    at_node, at_use = places[node], places[use]
    owner = at_node.scope.owner(node.id)
    if at_use.scope.owner(node.id) is not owner:
        return False
    if owner is None:
        return True  # a builtin, or bound by a star import
    bindings = owner.bindings[node.id]
    if len(bindings) > 1:
        values, values_at_use = (
            set(filter(_counts, reaching(bindings, at))) for at in (at_node, at_use)
        )
        if values != values_at_use:
            return False
    return not any(map(_is_of_a_loop, bindings))


def _is_of_a_loop(binding: Binding) -> bool:
    """True if a binding gives another value in each turn of a loop."""
    blocks = (owner for owner, _ in binding.place.path)
    return any(isinstance(block, _LOOPS) for block in blocks) or (
        binding.definition.steps[:1] == (None,)
    )


def _same_attribute(node: ast.Attribute, use: ast.Call, draft: Draft) -> bool:
    head: ast.expr = node
    while isinstance(head, ast.Attribute):
        head = head.value
    if not isinstance(head, ast.Name):
        return False
    if _same_name(head, use, draft):
        return True
    evaluator = draft.evaluator
    scopes = evaluator.scopes
    owners = [value for value in evaluator.of(head) if isinstance(value, LocalInstance)]
    if not owners or owners[0].node is not scopes.enclosing_class(use) or node.value is not head:
        return False
    assigned = len(scopes.attributes.get(node.attr, ()))
    once = assigned == 1 or not assigned and node.attr in scopes.of_node[owners[0].node].bindings
    return once and _self(use, evaluator) == head.id


def _self(use: ast.AST, evaluator: Evaluator) -> str:
    """Return the name of the first parameter of the method around a node."""
    scope = evaluator.scopes.places[use].scope
    while scope.parent and not isinstance(scope.parent.node, ast.ClassDef):
        scope = scope.parent
    arguments = getattr(scope.node, "args", None)
    return arguments.args[0].arg if arguments and arguments.args else ""


def _counts(binding: Binding) -> bool:
    """True if a binding has a value other than None, unlike ``FLAGS = None``."""
    node = binding.definition.node
    return not (isinstance(node, ast.Constant) and node.value is None)

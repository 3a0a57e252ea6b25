"""Calls with ``*row`` and ``**table`` whose content the file tells: each argument by itself.

``Context(**table)`` becomes ``Context(url=table["url"], …)``, such that rules find the arguments.
"""

from __future__ import annotations

import ast
from typing import Dict, List, Mapping, Sequence, Tuple, Union

import libcst as cst

from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.scopes import Kind, Scope
from tritonclient_shim.rewrite.calls import COMMA, TIGHT
from tritonclient_shim.rewrite.handed_on import OptionalKey, handed_on

_Argument = Union[str, int]
_Content = Dict[_Argument, ast.expr]
#: For each argument of a call with stars, in the order of the text: the keys that it has.
Spread = List[Tuple[_Argument, ...]]

#: Arguments of a context that a client gets as they are; others may be repeated at its requests.
_TAKEN = ("url", "protocol", 0, 1)


def spread(call: ast.Call, evaluator: Evaluator, parents: Mapping[ast.AST, ast.AST]) -> Spread:
    """Put what is hidden by stars among the arguments of a call; empty where it is not known."""
    hidden = [one.value for one in call.args if isinstance(one, ast.Starred)]
    hidden += [one.value for one in call.keywords if one.arg is None]
    contents: dict[ast.expr, _Content] = {}
    for one in sorted(hidden, key=lambda node: (node.lineno, node.col_offset)):
        content = _content(one, evaluator, parents)
        if content is None:
            return []
        contents[one] = content
    arguments: list[ast.expr] = []
    for arg in call.args:
        arguments += contents[arg.value].values() if isinstance(arg, ast.Starred) else [arg]
    keywords: list[ast.keyword] = []
    for keyword in call.keywords:
        given = contents[keyword.value] if keyword.arg is None else {keyword.arg: keyword.value}
        keywords += [ast.keyword(str(key), value) for key, value in given.items()]
    if len({one.arg for one in keywords}) < len(keywords):
        return []  # an argument twice, which Python refuses
    call.args, call.keywords = arguments, keywords
    return [tuple(content) for content in contents.values()]


def _content(
    node: ast.expr, evaluator: Evaluator, parents: Mapping[ast.AST, ast.AST]
) -> _Content | None:
    """What is in a dict or tuple that the file writes down, and does not change afterwards."""
    if not isinstance(node, ast.Name):
        return _written(node)
    place = evaluator.scopes.places.get(node)
    owner = place.scope.owner(node.id) if place else None
    bindings = owner.bindings[node.id] if owner else []
    if place is None or len(bindings) != 1:
        return None
    definition, made = bindings[0].definition, bindings[0].place.scope
    names = (one for one in evaluator.scopes.places if isinstance(one, ast.Name))
    uses = (one for one in names if one.id == node.id and isinstance(one.ctx, ast.Load))
    if definition.steps or not all(_only_read(one, parents[one]) for one in uses):
        return None
    if definition.kind is Kind.PARAMETER and owner:
        return handed_on(definition.node, owner.node, evaluator)
    if definition.kind is not Kind.VALUE:
        return None
    found = _written(definition.node)
    repeated = [value for key, value in (found or {}).items() if key not in _TAKEN]
    same = all(_is_same(one, made, place.scope) for value in repeated for one in ast.walk(value))
    return found if same else None


def _is_same(node: ast.AST, made: Scope, used: Scope) -> bool:
    """Whether a name stands for the same in the scope where it is used, at any time."""
    if not isinstance(node, ast.Name):
        return True
    owner = made.owner(node.id)
    return owner is used.owner(node.id) and (owner is None or len(owner.bindings[node.id]) == 1)


def _only_read(node: ast.Name, parent: ast.AST) -> bool:
    if isinstance(parent, ast.Subscript):
        return parent.value is node and isinstance(parent.ctx, ast.Load)
    return isinstance(parent, ast.Starred) or isinstance(parent, ast.keyword) and not parent.arg


def _written(node: ast.AST) -> _Content | None:
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if all(isinstance(key, str) for key in keys) and len(set(keys)) == len(keys):
            return {str(key): value for key, value in zip(keys, node.values)}
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict" and not node.args:
        named = {one.arg: one.value for one in node.keywords}
        return None if None in named else {str(name): value for name, value in named.items()}
    if isinstance(node, (ast.Tuple, ast.List)):
        stars = any(isinstance(one, ast.Starred) for one in node.elts)
        return None if stars else dict(enumerate(node.elts))
    return None


def written_out(old: cst.Call, known: Spread) -> cst.Call:
    """The call with an argument for each key of its arguments with stars."""
    if not any(arg.star for arg in old.args):
        return old
    contents = iter(known)
    found: list[cst.Arg] = []
    for arg in old.args:
        found += _each(arg, next(contents)) if arg.star else [arg]
    return old.with_changes(args=found)


def _each(arg: cst.Arg, keys: Sequence[_Argument]) -> list[cst.Arg]:
    values = [_value(arg.value, key, position) for position, key in enumerate(keys)]
    made = [
        cst.Arg(value, cst.Name(key) if isinstance(key, str) else None, comma=COMMA)
        for key, value in zip(keys, values)
    ]
    made = [one.with_changes(equal=TIGHT) if one.keyword else one for one in made]
    after = {"comma": arg.comma, "whitespace_after_arg": arg.whitespace_after_arg}
    return [*made[:-1], *(one.with_changes(**after) for one in made[-1:])]


def _value(content: cst.BaseExpression, key: _Argument, position: int) -> cst.BaseExpression:
    """An element: as it is written down in the call, or by its key."""
    if isinstance(content, cst.Call):
        return content.args[position].value
    if isinstance(content, (cst.Dict, cst.Tuple, cst.List)):
        element = content.elements[position]
        return element.value
    if isinstance(key, OptionalKey):
        assert isinstance(content, cst.Name)
        return cst.parse_expression(key.read(content.value))
    index = cst.SimpleString(f'"{key}"') if isinstance(key, str) else cst.Integer(str(key))
    return cst.Subscript(content, [cst.SubscriptElement(cst.Index(index))])

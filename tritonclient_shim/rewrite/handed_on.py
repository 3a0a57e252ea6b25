"""``*args`` and ``**more`` of a function: what the calls in the file give to them."""

from __future__ import annotations

import ast
from typing import Iterator, Union

from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.scopes import Kind, parameters
from tritonclient_shim.migrate.values import LocalClass, LocalFunction, Value

_Named = Union[ast.FunctionDef, ast.AsyncFunctionDef]
#: What arguments of contexts are where they are not given; the others are None.
_DEFAULTS = {"model_version": -1, "verbose": False, "correlation_id": 0, "streaming": False}
_DEFAULTS.update(batch_size=1, flags=0, corr_id=0, priority=0, timeout_us=0)


class OptionalKey(str):
    """A key of ``**more`` that some calls give, and others do not."""

    def read(self, name: str) -> str:
        """The expression for what is given, or for the default."""
        return f'{name}.get("{self}", {_DEFAULTS.get(self)})'


def is_handed_on(call: ast.Call) -> bool:
    """Whether an argument has been put in the place of such a parameter."""
    values = (*call.args, *(one.value for one in call.keywords))
    return any(not hasattr(one, "lineno") for one in values)


def handed_on(
    parameter: ast.AST, function: ast.AST, evaluator: Evaluator
) -> dict[str | int, ast.expr] | None:
    """Keys and numbers of what a function gets by a parameter with stars; None if unknown."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    name = getattr(parameter, "arg", "")
    if parameter is function.args.kwarg:
        keys = _keys(function, evaluator, set())
        if keys is None:
            return None
        return {key: ast.Name(key.read(name), ast.Load()) for key in map(OptionalKey, sorted(keys))}
    if parameter is function.args.vararg:
        count = _count(function, evaluator)
        return {n: ast.Name(f"{name}[{n}]", ast.Load()) for n in range(count)} if count else None
    return None


def _calls(function: _Named, evaluator: Evaluator) -> Iterator[tuple[ast.Call, int]]:
    """The calls of a function or of its class, each with how many arguments it has got before."""
    for call in evaluator.scopes.calls:
        values = evaluator.of(call.func)
        own = [one for one in values if isinstance(one, LocalFunction) and one.node is function]
        if own:
            yield call, int(own[0].bound)
        elif any(_makes(one, function, evaluator) for one in values):
            yield call, 1


def _makes(value: Value, function: _Named, evaluator: Evaluator) -> bool:
    """Whether a class calls a function when it makes an object."""
    if not isinstance(value, LocalClass):
        return False
    made = evaluator.attribute_of_object(value.node, "__init__")
    return any(isinstance(one, LocalFunction) and one.node is function for one in made)


def _keys(function: _Named, evaluator: Evaluator, seen: set[_Named]) -> set[str] | None:
    """The names that calls give to ``**more``, those of functions that hand theirs on as well."""
    seen.add(function)
    own = {one.arg for one in (*parameters(function), *function.args.kwonlyargs)}
    found: set[str] = set()
    calls = list(_calls(function, evaluator))
    if not calls:
        return None
    for call, _ in calls:
        found.update(str(one.arg) for one in call.keywords if one.arg)
        for node in (one.value for one in call.keywords if not one.arg):
            outer = _handing(node, evaluator)
            inner: set[str] | None = set()
            if outer not in seen:
                inner = _keys(outer, evaluator, seen) if outer else None
            if inner is None:
                return None
            found |= inner
    return found - own


def _handing(node: ast.expr, evaluator: Evaluator) -> _Named | None:
    """The function that hands on its ``**more``."""
    place = evaluator.scopes.places.get(node)
    owner = place.scope.owner(node.id) if place and isinstance(node, ast.Name) else None
    function = owner.node if owner else None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    assert owner is not None and isinstance(node, ast.Name)
    nodes = [one.definition.node for one in owner.bindings[node.id]]
    kinds = {one.definition.kind for one in owner.bindings[node.id]}
    is_own = nodes == [function.args.kwarg] and kinds == {Kind.PARAMETER}
    return function if is_own else None


def _count(function: _Named, evaluator: Evaluator) -> int:
    """How many arguments all calls give to ``*args``; 0 where these are more or fewer."""
    counts = set()
    for call, before in _calls(function, evaluator):
        if any(isinstance(one, ast.Starred) for one in call.args):
            return 0
        counts.add(len(call.args) - len(parameters(function)) + before)
    return max(0, counts.pop()) if len(counts) == 1 else 0

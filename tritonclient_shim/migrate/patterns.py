"""A call in the source → the ids of the usage patterns that its arguments show."""

from __future__ import annotations

import ast
from typing import Callable, Iterator, Mapping

from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.values import HANDLE, Instance, Items, Symbol, element, union
from tritonclient_shim.registry.patterns import (
    ARGUMENT_PATTERNS,
    GIVEN,
    HANDLE_IN,
    HANDLE_OUT,
    PARAMETERS,
    WITH_SCHEME,
    ArgumentPattern,
)

__all__ = ["PARAMETERS", "arguments", "patterns_in"]

_RAW = Symbol(f"{API}.InferContext.ResultFormat.RAW")


def patterns_in(id: str, call: ast.Call, evaluator: Evaluator, skipped: int) -> Iterator[str]:
    """Yield the usage patterns in a call of what ``id`` stands for.

    ``skipped``: how many arguments come before its parameters: 1 for ``InferContext.run(self)``.
    """
    if id not in PARAMETERS:
        return
    for name, value in arguments(PARAMETERS[id], call, skipped).items():
        for pattern in ARGUMENT_PATTERNS:
            if pattern.parameter == name and _shows(pattern, value, evaluator):
                yield pattern.id


def arguments(names: tuple[str, ...], call: ast.Call, skipped: int = 0) -> Mapping[str, ast.expr]:
    """Return the expression for each parameter of a call, as far as ``*`` and ``**`` hide none."""
    expressions: dict[str, ast.expr] = {}
    for name, value in zip(names, call.args[skipped:]):
        if isinstance(value, ast.Starred):
            break
        expressions[name] = value
    expressions.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    return expressions


def _shows(pattern: ArgumentPattern, value: ast.expr, evaluator: Evaluator) -> bool:
    """True if the argument shows the pattern. An unknown value counts as showing the pattern."""
    if pattern.kind:
        return _KINDS[pattern.kind](value, evaluator)
    if isinstance(value, (ast.List, ast.Tuple)) and not value.elts:
        return False
    try:
        return ast.literal_eval(value) not in pattern.harmless
    except (ValueError, TypeError):
        return True


def _handle_in(value: ast.expr, evaluator: Evaluator) -> bool:
    values = element(evaluator.of(value))
    values |= union(item.at(0) for item in values if isinstance(item, Items))
    return any(isinstance(item, Instance) and item.of == HANDLE for item in values)


def _handle_out(value: ast.expr, evaluator: Evaluator) -> bool:
    formats = element(evaluator.of(value))
    return any(isinstance(f, Items) and len(f.keys) == 2 and _RAW in f.at(0) for f in formats)


_KINDS: dict[str, Callable[[ast.expr, Evaluator], bool]] = {
    GIVEN: lambda value, evaluator: True,
    WITH_SCHEME: lambda value, evaluator: "://" in str(getattr(value, "value", "")),
    HANDLE_IN: _handle_in,
    HANDLE_OUT: _handle_out,
}

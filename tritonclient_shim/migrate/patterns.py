"""A call in the source → the ids of the usage patterns that its arguments show."""

from __future__ import annotations

import ast
from typing import Callable, Iterator, Mapping

from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.values import HANDLE, Instance, Items, Symbol, Values, element, union

_SERVER = ("url", "protocol", "verbose", "http_headers")
_STATUS = ("url", "protocol", "model_name", "verbose", "http_headers")
_INFER = (
    *("url", "protocol", "model_name", "model_version", "verbose", "correlation_id"),
    *("streaming", "http_headers"),
)
_RUN = ("inputs", "outputs", "batch_size", "flags", "corr_id", "priority", "timeout_us")
_RUN_WITH_CALLBACK = ("callback", *_RUN)
_RAW = Symbol(f"{API}.InferContext.ResultFormat.RAW")

#: id of what is called → its parameters.
PARAMETERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("TS020", "TS030", "TS035", "TS040"), _SERVER),
    "TS025": _STATUS,
    "TS050": _INFER,
    **dict.fromkeys(("TS051", "TS053"), _RUN),
    **dict.fromkeys(("TS052", "TS054"), _RUN_WITH_CALLBACK),
    "TS055": ("request_id", "wait"),
}
ExpressionRule = Callable[[ast.expr, Evaluator], bool]


def patterns_in(id: str, call: ast.Call, evaluator: Evaluator, skipped: int) -> Iterator[str]:
    """The usage patterns in a call of what ``id`` stands for.

    ``skipped``: how many arguments come before its parameters: 1 for ``InferContext.run(self)``.
    """
    if id not in PARAMETERS:
        return
    for name, value in arguments(PARAMETERS[id], call, skipped).items():
        yield from (pattern for pattern, rule in _RULES.get(name, ()) if rule(value, evaluator))


def arguments(names: tuple[str, ...], call: ast.Call, skipped: int = 0) -> Mapping[str, ast.expr]:
    """Parameters and a call → the expression for each, as far as ``*`` and ``**`` hide none."""
    found: dict[str, ast.expr] = {}
    for name, value in zip(names, call.args[skipped:]):
        if isinstance(value, ast.Starred):
            break
        found[name] = value
    found.update({one.arg: one.value for one in call.keywords if one.arg})
    return found


def _other_than(*defaults: object) -> ExpressionRule:
    """A rule that holds for all but these constants, also for expressions of unknown value."""

    def rule(value: ast.expr, evaluator: Evaluator) -> bool:
        if isinstance(value, (ast.List, ast.Tuple)) and not value.elts:
            return False
        try:
            return ast.literal_eval(value) not in defaults
        except (ValueError, TypeError):
            return True

    return rule


def _has_scheme(value: ast.expr, evaluator: Evaluator) -> bool:
    return isinstance(value, ast.Constant) and "://" in str(value.value)


def _handle_in(value: ast.expr, evaluator: Evaluator) -> bool:
    given = element(evaluator.of(value))
    return _is_handle(given) or _is_handle(union(one.at(0) for one in _containers(given)))


def _is_handle(values: Values) -> bool:
    return any(isinstance(one, Instance) and one.of == HANDLE for one in values)


def _handle_out(value: ast.expr, evaluator: Evaluator) -> bool:
    formats = _containers(element(evaluator.of(value)))
    return any(len(one.keys) == 2 and _RAW in one.at(0) for one in formats)


def _containers(values: Values) -> list[Items]:
    return [one for one in values if isinstance(one, Items)]


def _given(value: ast.expr, evaluator: Evaluator) -> bool:
    return True


#: Parameter → the usage patterns that a value given for it can show.
_RULES: dict[str, tuple[tuple[str, ExpressionRule], ...]] = {
    "url": (("TS101", _has_scheme),),
    "http_headers": (("TS102", _other_than(None, "", [], ())),),
    "verbose": (("TS103", _other_than(None, False, 0, "")),),
    "streaming": (("TS104", _other_than(None, False, 0)),),
    "correlation_id": (("TS105", _other_than(None, 0)),),
    "model_version": (("TS106", _other_than(None, -1)),),
    "inputs": (("TS114", _handle_in),),
    "outputs": (("TS115", _handle_out),),
    "batch_size": (("TS109", _other_than(1)),),
    "flags": (("TS110", _other_than(0)),),
    "corr_id": (("TS111", _other_than(0)),),
    "priority": (("TS112", _other_than(0)),),
    "timeout_us": (("TS113", _other_than(0)),),
    "wait": (("TS116", _given),),
}

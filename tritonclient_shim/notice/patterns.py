"""Arguments of a legacy call → the ids of the usage patterns that they show."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping

CallArguments = Mapping[str, Any]
ArgumentRule = Callable[[CallArguments], bool]
_DEFAULTS = {"batch_size": 1, "flags": 0, "corr_id": 0, "priority": 0, "timeout_us": 0}
_WITH_ID = ("inputs", "outputs", *_DEFAULTS)
_WITH_CALLBACK = ("callback", *_WITH_ID)
_ASYNC = {"TS052": _WITH_CALLBACK, "TS053": _WITH_ID, "TS054": _WITH_CALLBACK}
_RAW, _CLASS = (1,), 2  # ResultFormat's members (docs/v1-behaviour.md §3.8)


def patterns_of(id: str, arguments: CallArguments) -> list[str]:
    """The usage patterns in one call of ``id``, whose parameters and values are ``arguments``.

    Values may be of any type; a rule that cannot read one does not hold.
    """
    if id in _ASYNC:
        arguments = _named(_ASYNC[id], arguments)
    return [pattern for pattern, rule in _RULES.get(id, {}).items() if _holds(rule, arguments)]


def _named(names: tuple[str, ...], arguments: CallArguments) -> CallArguments:
    """``args`` and ``kwargs`` of an asynchronous call → its parameters, also those left out."""
    return {**_DEFAULTS, **dict(zip(names, arguments["args"])), **arguments["kwargs"]}


def _holds(rule: ArgumentRule, arguments: CallArguments) -> bool:
    try:
        return bool(rule(arguments))
    except (TypeError, ValueError, AttributeError, LookupError):
        return False


def _other_than(name: str, *defaults: Any) -> ArgumentRule:
    """A rule that holds where the parameter has none of these values."""
    return lambda arguments: arguments[name] not in defaults


def _is_handle(value: Any) -> bool:
    return type(value).__name__ == "c_void_p"


def _inputs(arguments: CallArguments) -> Iterator[Any]:
    yield from arguments["inputs"].values()


def _handle_in(arguments: CallArguments) -> bool:
    return any(_is_handle(v) or _is_handle(v[0]) for v in _inputs(arguments))


def _formats(arguments: CallArguments) -> list[Any]:
    return list(arguments["outputs"].values())


def _handle_out(arguments: CallArguments) -> bool:
    return any(len(f) == 2 and f[0] == _RAW for f in _formats(arguments))


def _scheme(arguments: CallArguments) -> bool:
    url = arguments["url"]
    return (b"://" if isinstance(url, bytes) else "://") in url


_ANY_CONTEXT: dict[str, ArgumentRule] = {
    "TS101": _scheme,
    "TS102": lambda arguments: len(arguments["http_headers"]) > 0,
    "TS103": _other_than("verbose", False, None, 0, ""),
}
_INFER_CONTEXT: dict[str, ArgumentRule] = {
    **_ANY_CONTEXT,
    "TS104": _other_than("streaming", False, None),
    "TS105": _other_than("correlation_id", 0, None),
    "TS106": _other_than("model_version", None, -1),
}
_INFERENCE: dict[str, ArgumentRule] = {
    "TS062": lambda arguments: any(f == _RAW or f[0] == _RAW for f in _formats(arguments)),
    "TS063": lambda arguments: any(f[0] == _CLASS for f in _formats(arguments)),
    "TS109": _other_than("batch_size", 1),
    "TS110": _other_than("flags", 0),
    "TS111": _other_than("corr_id", 0),
    "TS112": _other_than("priority", 0),
    "TS113": _other_than("timeout_us", 0),
    "TS114": _handle_in,
    "TS115": _handle_out,
}
_RULES: dict[str, dict[str, ArgumentRule]] = {
    **dict.fromkeys(("TS020", "TS025", "TS030", "TS035", "TS040"), _ANY_CONTEXT),
    "TS050": _INFER_CONTEXT,
    **dict.fromkeys(("TS051", "TS052", "TS053", "TS054"), _INFERENCE),
    "TS055": {"TS116": lambda arguments: isinstance(arguments["wait"], int)},
}

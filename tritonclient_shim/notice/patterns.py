"""Arguments of a legacy call that runs → the ids of the usage patterns that they show."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from tritonclient_shim.registry.patterns import (
    ARGUMENT_PATTERNS,
    GIVEN,
    HANDLE_IN,
    HANDLE_OUT,
    PARAMETERS,
    WITH_SCHEME,
    ArgumentPattern,
)

CallArguments = Mapping[str, Any]
_REQUESTS = frozenset({"TS051", "TS052", "TS053", "TS054"})
_DEFAULTS = {p.parameter: p.harmless[0] for p in ARGUMENT_PATTERNS if len(p.harmless) == 1}
_RAW, _CLASS = (1,), 2  # ResultFormat's members (docs/v1-behaviour.md §3.8)


def patterns_of(id: str, arguments: CallArguments) -> list[str]:
    """Return the usage patterns in one call of ``id`` with these arguments, by parameter.

    Values may be of any type; a rule that cannot read one does not hold.
    """
    parameters = PARAMETERS.get(id, ())
    if "kwargs" in arguments:  # of an asynchronous call: name them, and those left out
        positional = dict(zip(parameters, arguments["args"]))
        arguments = {**_DEFAULTS, **positional, **arguments["kwargs"]}
    shown = [p.id for p in ARGUMENT_PATTERNS if p.parameter in parameters and _shows(p, arguments)]
    if id not in _REQUESTS:
        return shown
    return [
        format for format, rule in _FORMATS.items() if _holds(rule, arguments, "outputs")
    ] + shown


def _shows(pattern: ArgumentPattern, arguments: CallArguments) -> bool:
    rule = _KINDS.get(pattern.kind, lambda value: value not in pattern.harmless)
    return _holds(rule, arguments, pattern.parameter)


def _holds(rule: Callable[[Any], Any], arguments: CallArguments, parameter: str) -> bool:
    try:
        return bool(rule(arguments[parameter]))
    except (TypeError, ValueError, AttributeError, LookupError):
        return False


def _is_handle(value: Any) -> bool:
    return type(value).__name__ == "c_void_p"


_KINDS: dict[str, Callable[[Any], Any]] = {
    GIVEN: lambda wait: isinstance(wait, int),
    WITH_SCHEME: lambda url: (b"://" if isinstance(url, bytes) else "://") in url,
    HANDLE_IN: lambda inputs: any(_is_handle(v) or _is_handle(v[0]) for v in inputs.values()),
    HANDLE_OUT: lambda outputs: any(len(f) == 2 and f[0] == _RAW for f in outputs.values()),
}
#: The result formats among the outputs of a request, which are symbols of their own.
_FORMATS: dict[str, Callable[[Any], Any]] = {
    "TS062": lambda outputs: any(f == _RAW or f[0] == _RAW for f in outputs.values()),
    "TS063": lambda outputs: any(f[0] == _CLASS for f in outputs.values()),
}

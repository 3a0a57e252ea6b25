"""Counts each use where a report is wanted, and notices it as ``TRITON_SHIM_WARNINGS`` says."""

from __future__ import annotations

import atexit
import os
import sys
from types import FrameType
from typing import Any, Callable, Mapping

from tritonclient_shim import settings, usage
from tritonclient_shim.notice import warn
from tritonclient_shim.registry.patterns import (
    ARGUMENT_PATTERNS,
    GIVEN,
    HANDLE_IN,
    HANDLE_OUT,
    PARAMETERS,
    REMOVED_FROM_NUMPY,
    WITH_SCHEME,
    ArgumentPattern,
)


class _NoticeState:
    """The notices that this process has given, and the mode at the first of them."""

    def __init__(self) -> None:
        self.mode: str | None = None
        self.headline_given = False


_state = _NoticeState()


def forget() -> None:
    """Start again, with the present settings."""
    global _state
    _state = _NoticeState()


def handle_use(id: str, facade: FrameType) -> bool:
    """Notice and count one use of ``id``, by the public method whose frame is ``facade``.

    Returns whether no later use need be noticed or counted. Raises the notice in mode ``error``,
    and where a filter of the user's makes it an error.
    """
    state = _state
    mode = state.mode = state.mode or settings.warnings_mode()
    recorder = usage.wanted()
    frame = user_frame(facade)
    if recorder is None and mode not in _EVERY:
        ids: tuple[str, ...] = (id,)
    else:
        ids = (id, *patterns_of(id, facade.f_locals))
    if recorder is not None:
        for used in ids:
            recorder.count(used, frame.f_code.co_filename, frame.f_lineno)
    _MODES[mode](state, ids, frame)
    return recorder is None and mode not in _EVERY


def wants_all() -> bool:
    """True if each use is to be noticed at each line."""
    return _state.mode == "all"


def _headline(state: _NoticeState, ids: tuple[str, ...], frame: FrameType) -> None:
    if state.headline_given:
        return
    state.headline_given = True
    _point_to_run_at_exit()
    try:
        warn.issue(warn.headline_of(ids[0]), frame)
    except BaseException:
        state.headline_given = False
        raise


def _all(state: _NoticeState, ids: tuple[str, ...], frame: FrameType) -> None:
    for id in ids:
        warn.issue(warn.notice_of(id), frame)


def _error(state: _NoticeState, ids: tuple[str, ...], frame: FrameType) -> None:
    raise warn.notice_of(ids[0])


def _off(state: _NoticeState, ids: tuple[str, ...], frame: FrameType) -> None:
    pass


#: ``TRITON_SHIM_WARNINGS`` → what it does with a use and its usage patterns.
_MODES = {"headline": _headline, "all": _all, "error": _error, "off": _off}
_EVERY = frozenset({"all", "error"})


# ----------------------------------------------------------------------------- the user's frame

_SHIM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: Folders whose frames are ours, never the user's.
_OURS = (_SHIM + os.sep, os.path.join(os.path.dirname(_SHIM), "tensorrtserver") + os.sep)
_LIBRARY = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (os.path.join(_LIBRARY, "site-packages"), os.path.join(_LIBRARY, "dist-packages"))

#: File name of a frame → whether the search for the user's frame skips it. The standard
#: library is skipped: an executor or a thread may stand between the user and the method it runs.
_skipped: dict[str, bool] = {}


def user_frame(frame: FrameType) -> FrameType:
    """Return the innermost frame of the user's code that led to ``frame``.

    Where a thread of the standard library runs a method of ours directly there is none; then it
    is the innermost frame that is not ours.
    """
    candidate: FrameType | None = frame
    while candidate is not None and _is_skipped(candidate.f_code.co_filename):
        candidate = candidate.f_back
    return _outside(frame) if candidate is None else candidate


def _is_skipped(name: str) -> bool:
    is_skipped = _skipped.get(name)
    if is_skipped is None:
        is_skipped = _skipped[name] = name.startswith(_OURS) or _is_library(name)
    return is_skipped


def _is_library(name: str) -> bool:
    return name.startswith(("<frozen ", _LIBRARY)) and not name.startswith(_INSTALLED)


def _outside(frame: FrameType) -> FrameType:
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


# ------------------------------------------------------------------------------- usage patterns

CallArguments = Mapping[str, Any]
_REQUESTS = frozenset({"TS051", "TS052", "TS053", "TS054"})
_DEFAULTS = {p.parameter: p.harmless[0] for p in ARGUMENT_PATTERNS if len(p.harmless) == 1}
# ResultFormat's members (docs/v1-behaviour.md §3.8):
_RAW = (1,)
_CLASS = 2


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


# ----------------------------------------------------------------------- names that NumPy lacks


def _point_to_run_at_exit() -> None:
    """Name `run` at the process's end if nobody caught that NumPy lacks a name."""
    owner = os.getpid()

    def finish() -> None:
        error = getattr(sys, "last_value", None)  # Python's own: what nobody caught
        if isinstance(error, AttributeError) and os.getpid() == owner:
            _point_to_run(str(error))

    atexit.register(finish)


def _point_to_run(message: str) -> None:
    import re
    import shlex

    lacking = re.search(r"module 'numpy' has no attribute '(\w+)'", message)
    if lacking and lacking[1] in REMOVED_FROM_NUMPY:
        script = shlex.quote(sys.argv[0] or "SCRIPT")
        print(
            f"tritonclient-shim: NumPy has removed np.{lacking[1]}; "
            f"`tritonclient-shim run {script}` puts it back",
            file=sys.stderr,
        )

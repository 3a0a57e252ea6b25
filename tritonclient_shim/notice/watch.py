"""Counts each use where a report is wanted, and notices it as ``TRITON_SHIM_WARNINGS`` says."""

from __future__ import annotations

from types import FrameType

from tritonclient_shim import settings, usage
from tritonclient_shim.core import forks
from tritonclient_shim.notice import warn
from tritonclient_shim.notice.caller import user_frame
from tritonclient_shim.notice.patterns import patterns_of
from tritonclient_shim.usage import removed_names

_lock = forks.Lock()


class _NoticeState:
    """The notices that this process has given, and the mode at the first of them."""

    def __init__(self) -> None:
        self.mode: str | None = None
        self.headline_given = False
        self.once = warn.Once()


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


def _headline(state: _NoticeState, ids: tuple[str, ...], frame: FrameType) -> None:
    if state.headline_given:
        return
    with _lock:
        if state.headline_given:
            return
        state.headline_given = True
    removed_names.watch()
    try:
        warn.issue(warn.headline_of(ids[0]), frame)
    except BaseException:
        state.headline_given = False
        raise


def _all(state: _NoticeState, ids: tuple[str, ...], frame: FrameType) -> None:
    for id in ids:
        state.once.issue(id, frame)


def _error(state: _NoticeState, ids: tuple[str, ...], frame: FrameType) -> None:
    raise warn.notice_of(ids[0])


def _off(state: _NoticeState, ids: tuple[str, ...], frame: FrameType) -> None:
    pass


#: ``TRITON_SHIM_WARNINGS`` → what it does with a use and its usage patterns.
_MODES = {"headline": _headline, "all": _all, "error": _error, "off": _off}
_EVERY = frozenset({"all", "error"})

"""What becomes of each use: counted where a report is wanted, and told by the mode."""

from __future__ import annotations

import threading
from types import FrameType

from tritonclient_shim import settings, usage
from tritonclient_shim.notice import warn
from tritonclient_shim.notice.caller import user_frame
from tritonclient_shim.notice.patterns import patterns_of

_lock = threading.Lock()


class _Said:
    """What this process has been told, and the mode that it was started with."""

    def __init__(self) -> None:
        self.mode: str | None = None
        self.headline = False
        self.once = warn.Once()


_said = _Said()


def forget() -> None:
    """Start over, with the settings of now."""
    global _said
    _said = _Said()


def tell(id: str, facade: FrameType) -> bool:
    """A use of ``id`` in the public method that ``facade`` runs → nothing is left to be said.

    Raises the notice in mode ``error``, and where a filter of the user's makes it an error.
    """
    said = _said
    mode = said.mode = said.mode or settings.warnings_mode()
    recorder = usage.wanted()
    frame = user_frame(facade)
    if recorder is None and mode not in _EVERY:
        ids: tuple[str, ...] = (id,)
    else:
        ids = (id, *patterns_of(id, facade.f_locals))
    if recorder is not None:
        for one in ids:
            recorder.count(one, frame.f_code.co_filename, frame.f_lineno)
    _MODES[mode](said, ids, frame)
    return recorder is None and mode not in _EVERY


def _headline(said: _Said, ids: tuple[str, ...], frame: FrameType) -> None:
    if said.headline:
        return
    with _lock:
        if said.headline:
            return
        said.headline = True
    try:
        warn.issue(warn.headline_of(ids[0]), frame)
    except BaseException:
        said.headline = False
        raise


def _all(said: _Said, ids: tuple[str, ...], frame: FrameType) -> None:
    for id in ids:
        said.once.issue(id, frame)


def _error(said: _Said, ids: tuple[str, ...], frame: FrameType) -> None:
    raise warn.notice_of(ids[0])


def _off(said: _Said, ids: tuple[str, ...], frame: FrameType) -> None:
    pass


#: ``TRITON_SHIM_WARNINGS`` → what it does with a use and its usage patterns.
_MODES = {"headline": _headline, "all": _all, "error": _error, "off": _off}
_EVERY = frozenset({"all", "error"})

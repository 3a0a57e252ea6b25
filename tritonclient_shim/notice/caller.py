"""Finds the user's stack frame, from which the old API was called."""

from __future__ import annotations

import os
from types import FrameType

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
    known = _skipped.get(name)
    if known is None:
        known = _skipped[name] = name.startswith(_OURS) or _is_library(name)
    return known


def _is_library(name: str) -> bool:
    return name.startswith(("<frozen ", _LIBRARY)) and not name.startswith(_INSTALLED)


def _outside(frame: FrameType) -> FrameType:
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame

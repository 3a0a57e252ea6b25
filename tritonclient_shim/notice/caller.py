"""Who called: the user's own frame, whatever lies between it and the old API."""

from __future__ import annotations

import os
from types import FrameType

_SHIM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: Folders whose frames are ours, never the user's.
_OURS = (_SHIM + os.sep, os.path.join(os.path.dirname(_SHIM), "tensorrtserver") + os.sep)
_LIBRARY = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (os.path.join(_LIBRARY, "site-packages"), os.path.join(_LIBRARY, "dist-packages"))

#: File name of a frame → is it never a user's? The standard library is not: an executor or
#: a thread that runs a method of a context stands between that method and the user.
_passed_over: dict[str, bool] = {}


def user_frame(frame: FrameType) -> FrameType:
    """The innermost frame of the user's from ``frame`` on, subclasses and callbacks included.

    Where a thread of the standard library runs a method directly, no frame is the user's:
    then it is the innermost that is not ours.
    """
    found: FrameType | None = frame
    while found is not None and _is_passed_over(found.f_code.co_filename):
        found = found.f_back
    return _outside(frame) if found is None else found


def _is_passed_over(name: str) -> bool:
    known = _passed_over.get(name)
    if known is None:
        known = _passed_over[name] = name.startswith(_OURS) or _is_library(name)
    return known


def _is_library(name: str) -> bool:
    return name.startswith(("<frozen ", _LIBRARY)) and not name.startswith(_INSTALLED)


def _outside(frame: FrameType) -> FrameType:
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame

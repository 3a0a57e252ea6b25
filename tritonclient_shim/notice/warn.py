"""Issues a notice at the user's own line, whatever lies between that line and here."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

from tritonclient_shim import settings
from tritonclient_shim.notice.categories import TensorRTServerDeprecationWarning

_SHIM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: Folders whose frames are ours, never the user's.
_OURS = (_SHIM + os.sep, os.path.join(os.path.dirname(_SHIM), "tensorrtserver") + os.sep)

#: The filter that hides every DeprecationWarning outside ``__main__`` by default.
_STOCK = ("ignore", None, DeprecationWarning, None, 0)

_DETAILS = (
    "The server it was made for is retired; tritonclient-shim runs your calls on today's Triton "
    "through tritonclient. Next step: migration_guide.md. Silence this with "
    "TRITON_SHIM_WARNINGS=off or -W ignore::DeprecationWarning."
)


def headline() -> None:
    """The notice of this process, by the mode of ``TRITON_SHIM_WARNINGS``."""
    mode = settings.warnings_mode()
    if mode == "off":
        return
    notice = TensorRTServerDeprecationWarning("tensorrtserver", "1.15", None, _DETAILS)
    if mode == "error":
        raise notice
    _issue(notice, _user_frame())


def _user_frame() -> FrameType:
    """The innermost frame that is not ours: the user's call, subclasses included."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def _issue(notice: Warning, frame: FrameType) -> None:
    module = frame.f_globals.get("__name__", "<unknown>")
    if _hidden_by_default(module, frame.f_lineno):
        # The default filters show DeprecationWarnings of the main program alone. A filter
        # of the user's own stands before the default ones and is found here just the same.
        module = "__main__"
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        notice,
        None,
        frame.f_code.co_filename,
        frame.f_lineno,
        module,
        registry,
    )


def _hidden_by_default(module: str, line: int) -> bool:
    """Is the first filter that applies the interpreter's default one?"""
    for action, message, category, where, at in warnings.filters:
        if not issubclass(TensorRTServerDeprecationWarning, category) or message is not None:
            continue
        if _matches(where, module) and at in (0, line):
            return (action, message, category, where, at) == _STOCK
    return False


def _matches(where: object, module: str) -> bool:
    if where is None:
        return True
    match = getattr(where, "match", None)
    return bool(match(module)) if match else where == module

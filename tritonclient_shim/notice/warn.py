"""Writes the notices and issues them at the user's line, where the user's filters apply."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from types import FrameType
from typing import Iterator

from tritonclient_shim.notice.categories import TensorRTServerDeprecationWarning
from tritonclient_shim.registry import ENTRIES

#: The interpreter's default filter, which hides each DeprecationWarning outside ``__main__``.
_STOCK = ("ignore", None, DeprecationWarning, None, 0)

_HEADLINE = (
    "Your program works. It calls the retired tensorrtserver API, which runs on today's Triton. "
    "Next: `{guide}` [{id}]. TRITON_SHIM_WARNINGS=off silences this."
)
_EACH = "Use {successor} instead. [{id}] `{guide}`"


def headline_of(id: str) -> TensorRTServerDeprecationWarning:
    """Return the notice that a process gives once, at its first use of the old API: of this id."""
    details = _HEADLINE.format(id=id, guide=ENTRIES[id].guide)
    return TensorRTServerDeprecationWarning("", None, None, details)


def notice_of(id: str) -> TensorRTServerDeprecationWarning:
    """Return the notice of a symbol or usage pattern: successor, id, section of the guide."""
    entry = ENTRIES[id]
    details = _EACH.format(successor=entry.successor, id=id, guide=entry.guide)
    return TensorRTServerDeprecationWarning(entry.symbol, entry.since, None, details)


def issue(notice: Warning, frame: FrameType) -> None:
    """Issue a notice at the frame's line; the user's filters decide whether it is shown."""
    module = frame.f_globals.get("__name__", "<unknown>")
    if _hidden_by_default(module, frame.f_lineno):
        # The default filters show DeprecationWarnings of the main program alone. A filter of the
        # user's own comes before them, and applies to this module name as well.
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


@contextmanager
def without_syntax_warnings() -> Iterator[None]:
    """Hide what Python warns of in the sources that the block parses: they are the user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield


def _hidden_by_default(module: str, line: int) -> bool:
    """True if the first filter that applies is the interpreter's default filter."""
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

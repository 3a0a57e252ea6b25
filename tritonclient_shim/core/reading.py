"""The one door through which servers' answers are read.

A server, or something between, may answer anything. The checks of the readers say what is wrong
with an answer as exactly as they can; whatever they did not foresee, and reading then raises, is
made a fault here. So no exception of a parser, of NumPy or of protobuf reaches a user, and none
ends a thread on which others wait for an outcome.
"""

from __future__ import annotations

from reprlib import Repr
from typing import Any, Callable, TypeVar

from tritonclient_shim.core.errors import Fault, InferenceServerException, UnreadableFault

T = TypeVar("T")

#: The most characters that a message repeats of an answer or of an exception.
_MOST = 200

_repr = Repr()
_repr.maxstring = _repr.maxother = 60


def shown(value: Any) -> str:
    """Part of an answer → how a message shows it, shortened."""
    return _repr.repr(value)


def read(reader: Callable[..., T], *answer: Any) -> T:
    """``reader(*answer)``; UnreadableFault for whatever it raises that is not ours.

    Errors that are in their final form, faults and InferenceServerException, pass.
    """
    try:
        return reader(*answer)
    except (Fault, InferenceServerException):
        raise
    except Exception as error:
        raise _unreadable(error) from error


def outcome_of(reader: Callable[..., T], *answer: Any) -> T | Fault:
    """``reader(*answer)``, or the fault it raised, or what :func:`read` makes of all else.

    It never raises: every asynchronous request is completed with what this returns.
    """
    try:
        return reader(*answer)
    except Fault as fault:
        return fault
    except Exception as error:
        return _unreadable(error)


def _unreadable(error: Exception) -> UnreadableFault:
    text = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
    fault = UnreadableFault(text if len(text) <= _MOST else f"{text[:_MOST]}…")
    fault.__cause__ = error
    return fault

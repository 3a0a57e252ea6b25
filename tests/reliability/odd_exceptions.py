"""Exceptions that a callback or an iterator of a user may raise."""

from __future__ import annotations

from typing import Callable

from tensorrtserver.api import InferenceServerException


class _Interrupting(BaseException):
    """An exception whose text raises an exception that ``except Exception`` does not catch."""

    def __str__(self) -> str:
        raise KeyboardInterrupt("in __str__")


def _odd_syntax_error() -> BaseException:
    """Return an exception that ``traceback`` cannot print."""
    error = SyntaxError("odd", ("f", 1, 2, "text"))
    error.lineno, error.offset, error.text = object(), "x", 5  # type: ignore[assignment]
    return error


#: Functions by name. Each makes an exception to raise.
EXCEPTIONS: dict[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("odd \ud800 é \0 text"),
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(1),
    "InferenceServerException": lambda: InferenceServerException("of the user"),
    "BaseException": BaseException,
    "interrupting": _Interrupting,
    "odd SyntaxError": _odd_syntax_error,
}

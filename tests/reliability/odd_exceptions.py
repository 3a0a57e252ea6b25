"""Every kind of exception that a callback or an iterator of a user may raise."""

from __future__ import annotations

from typing import Any, Callable

from tensorrtserver.api import InferenceServerException


class _Unprintable(Exception):
    """An exception whose text raises."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class _Interrupting(BaseException):
    """An exception whose text raises an exception that ``except Exception`` does not catch."""

    def __str__(self) -> str:
        raise KeyboardInterrupt("in __str__")


class _NoTraceback(Exception):
    """An exception whose traceback, cause and context cannot be read."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)


def _circular() -> BaseException:
    first, second = ValueError("first"), TypeError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def _deep() -> BaseException:
    result: BaseException = ValueError("innermost")
    for number in range(3000):
        outer = ValueError(number)
        outer.__cause__, result = result, outer
    return result


def _with_notes() -> BaseException:
    error = ValueError("noted")
    error.__notes__ = [object(), "\ud800"]  # type: ignore[attr-defined]
    return error


def _odd_syntax_error() -> BaseException:
    error = SyntaxError("odd", ("f", 1, 2, "text"))
    error.lineno, error.offset, error.text = object(), "x", 5  # type: ignore[assignment]
    return error


#: Functions by name. Each makes an exception to raise.
EXCEPTIONS: dict[str, Callable[[], BaseException]] = {
    "Exception": Exception,
    "ValueError": lambda: ValueError("odd \ud800 é \0 text"),
    "long": lambda: ValueError("x" * 1_000_000),
    "SystemExit": lambda: SystemExit(3),
    "SystemExit with text": lambda: SystemExit("text"),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(1),
    "MemoryError": MemoryError,
    "RecursionError": RecursionError,
    "InferenceServerException": lambda: InferenceServerException("of the user"),
    "BaseException": BaseException,
    "unprintable": _Unprintable,
    "interrupting": _Interrupting,
    "without traceback": _NoTraceback,
    "circular": _circular,
    "deep": _deep,
    "with notes": _with_notes,
    "odd SyntaxError": _odd_syntax_error,
}

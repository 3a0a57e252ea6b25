"""Callbacks with every kind of exception, odd callables, and streams that fail."""

from __future__ import annotations

import io
import sys
from functools import wraps
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


#: Functions by name. Each makes an exception for a callback to raise.
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


class _Stderr:
    """A stream whose ``write`` raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def write(self, text: str) -> int:
        raise self._error

    flush = property(lambda self: self.write)


def _closed() -> Any:
    o = io.StringIO()
    o.close()
    return o


#: Functions by name. Each makes a replacement of ``sys.stderr``.
STREAMS: dict[str, Callable[[], Any]] = {
    "memory": io.StringIO,
    "none": lambda: None,
    "closed": _closed,
    "full": lambda: _Stderr(OSError(28, "No space left on device")),
    "ending": lambda: _Stderr(SystemExit(5)),
    "ASCII": lambda: io.TextIOWrapper(io.BytesIO(), "ascii"),
    "no stream": object,
}


class _Returned:
    """A useless return value of a callback that fails when looked at."""

    def __bool__(self) -> bool:
        raise SystemExit("in __bool__")

    def __repr__(self) -> str:
        raise SystemExit("in __repr__")


def _counted(action: Callable[[Any, int], Any]) -> Callable[[Callable[[], None]], Any]:
    """Return a function that makes callbacks. They report that they were called, and then act."""

    @wraps(action)
    def make(report_call: Callable[[], None]) -> Any:
        def callback(context: Any, number: int) -> Any:
            report_call()
            return action(context, number)

        return callback

    return make


def raising(error: Callable[[], BaseException], report_call: Callable[[], None]) -> Any:
    """Return a function that raises."""

    def action(context: Any, number: int) -> None:
        raise error()

    return _counted(action)(report_call)


@_counted
def recursing(context: Any, number: int) -> None:
    """Call itself until Python stops it."""

    def again() -> None:
        again()

    again()


@_counted
def returning(context: Any, number: int) -> Any:
    """Return the odd value."""
    return _Returned()


@_counted
def exiting(context: Any, number: int) -> None:
    """Raise SystemExit."""
    sys.exit("from a callback")


@_counted
def of_two_results(context: Any, number: int) -> None:
    """Fetch the result twice. The second fetch fails."""
    context.get_async_run_results(number)
    context.get_async_run_results(number)


@_counted
def generator(context: Any, number: int) -> Any:
    """Return a generator function: its body never runs, and it raises nothing."""
    yield 1


class Method:
    """A callable object that takes too few arguments, or too many."""

    def __init__(self, report_call: Callable[[], None]) -> None:
        self.report_call = report_call

    def __call__(self, *arguments: Any) -> None:
        self.report_call()
        raise TypeError("takes 0 positional arguments")


#: Callables that do not raise an exception of the table above.
CALLABLES = [recursing, returning, exiting, of_two_results, Method, generator]

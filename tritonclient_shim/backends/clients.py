"""tritonclient's clients for users: their errors can be caught as either library's."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable

from tritonclient.utils import InferenceServerException as TritonException

from tritonclient_shim.core.errors import InferenceServerException


class UnwrappedError(InferenceServerException):
    """An error of an unwrapped client: shown as tritonclient shows it, also caught as v1's."""

    def __init__(
        self, err: str | None, status: str | None = None, debug_details: Any = None
    ) -> None:
        super().__init__(err, "", 0, status, debug_details)

    def __reduce__(self) -> Any:
        return (UnwrappedError, (self._msg, self._status))

    def __str__(self) -> str:
        return str(TritonException.__str__(self))


def user_error(error: Any) -> Any:
    """Exception of tritonclient's → one that is v1's as well; anything else → itself."""
    if not isinstance(error, TritonException) or isinstance(error, InferenceServerException):
        return error
    unwrapped = UnwrappedError(error.message(), error.status(), error.debug_details())
    unwrapped.__cause__ = error
    return unwrapped


_classes: dict[Any, Any] = {}


def user_client_class(base: Any) -> Any:
    """Return a subclass whose methods raise errors of both libraries, to callbacks as well."""
    known = _classes.get(base)
    return known or _classes.setdefault(base, type(base.__name__, (base,), _members(base)))


def _members(base: Any) -> dict[str, Any]:
    methods = {
        name: raw
        for kind in reversed(base.__mro__[:-1])
        for name, raw in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(raw)
    }
    wrapped = {name: _with_user_errors(method) for name, method in methods.items()}
    finalizer = {"__del__": _finalizer(base)} if hasattr(base, "__del__") else {}
    return {"__doc__": base.__doc__, **finalizer, **wrapped}


def _finalizer(base: Any) -> Callable[[Any], None]:
    """tritonclient's ``__del__``, which closes, but not when the interpreter ends.

    A client that still exists then, because for example a stopped reader thread refers to it, has
    outlived gRPC's own threads: closing the channel would wait for them for ever.
    """

    def __del__(self: Any) -> None:
        if not sys.is_finalizing():
            base.__del__(self)

    return __del__


def _with_user_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(method)
    calls_back = "callback" in signature.parameters

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if calls_back:
            bound = signature.bind(*args, **kwargs)
            bound.arguments["callback"] = _callback_with_user_errors(bound.arguments["callback"])
            args, kwargs = bound.args, bound.kwargs
        try:
            result = method(*args, **kwargs)
        except TritonException as error:
            unwrapped = user_error(error)
            if unwrapped is error:
                raise
            raise unwrapped from error
        if hasattr(result, "get_result"):  # of tritonclient.http's async_infer
            result.__class__ = user_client_class(type(result))
        return result

    return wrapped


def _callback_with_user_errors(callback: Any) -> Any:
    def wrapped(result: Any, error: Any) -> None:
        callback(result=result, error=user_error(error))

    return wrapped

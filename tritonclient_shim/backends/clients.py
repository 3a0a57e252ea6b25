"""tritonclient's clients for users: their errors can be caught as either library's."""

from __future__ import annotations

import inspect
import sys
from functools import lru_cache, wraps
from typing import Any, Callable

import tritonclient
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


class _ClosedStub:
    """The stub of a client that its user has closed."""

    def __getattr__(self, name: str) -> Any:
        raise UnwrappedError("this client is closed; unwrap() the context again")


def is_closed(client: Any) -> bool:
    """True if the user has closed this client."""
    return isinstance(client._client_stub, _ClosedStub)


def check_hooks(client: Any, *names: str) -> None:
    """Raise RuntimeError for a tritonclient without the attributes that ``unwrap()`` uses."""
    if not all(hasattr(client, name) for name in names):
        version = getattr(tritonclient, "__version__", "installed here")
        raise RuntimeError(
            f"a client of tritonclient {version} has no {' and '.join(names)} any more; unwrap() "
            "needs a tritonclient from 2.40 to 2.73"
        )


@lru_cache(maxsize=None)
def user_client_class(base: Any, close: Callable[[Any], None]) -> Any:
    """Return a subclass for users of a connection that belongs to a context.

    Its methods raise errors of both libraries, to callbacks as well. Its ``close`` ends with
    ``close`` what the client has started, and leaves the connection open.
    """

    def close_client(self: Any) -> None:
        close(self)
        self._client_stub = _ClosedStub()

    def __del__(self: Any) -> None:
        # Late clients have outlived gRPC's threads, for which they would wait for ever.
        if not sys.is_finalizing():
            self.close()

    return _class_with_user_errors(base, close=close_client, __del__=__del__)


@lru_cache(maxsize=None)
def _class_with_user_errors(base: Any, **members: Any) -> Any:
    methods = {
        name: raw
        for kind in reversed(base.__mro__[:-1])
        for name, raw in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(raw)
    }
    wrapped = {name: _with_user_errors(method) for name, method in methods.items()}
    return type(base.__name__, (base,), {"__doc__": base.__doc__, **wrapped, **members})


def _with_user_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(method)
    calls_back = "callback" in signature.parameters

    @wraps(method)
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
            kind: Any = type(result)
            result.__class__ = _class_with_user_errors(kind)
        return result

    return wrapped


def _callback_with_user_errors(callback: Any) -> Any:
    def wrapped(result: Any, error: Any) -> None:
        callback(result=result, error=user_error(error))

    return wrapped

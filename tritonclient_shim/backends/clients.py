"""tritonclient's clients for users: their errors can be caught as either library's."""

from __future__ import annotations

import inspect
from functools import lru_cache, wraps
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


@lru_cache(maxsize=None)
def with_both_errors(client: Any) -> Any:
    """Return a subclass of a client whose methods raise UnwrappedError for tritonclient's errors.

    Callbacks get tritonclient's errors.
    """
    methods = inspect.getmembers(client, inspect.isfunction)
    wrapped = {name: _wrapped(method) for name, method in methods if not name.startswith("_")}
    return type(client.__name__, (client,), {"__doc__": client.__doc__, **wrapped})


def _wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = method(*args, **kwargs)
        except InferenceServerException:
            raise
        except TritonException as error:
            message = error.message()
            status = error.status()
            details = error.debug_details()
            raise UnwrappedError(message, status, details) from error
        if hasattr(result, "get_result"):  # of async_infer over HTTP
            result.get_result = _wrapped(result.get_result)
        return result

    return call

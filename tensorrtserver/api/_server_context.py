"""The base class of the contexts that do no inference (docs/v1-behaviour.md §6)."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Sequence, TypeVar, Union

from tensorrtserver.api import _lazy_imports
from tensorrtserver.api._protocol import protocol_of
from tensorrtserver.api._unpicklable import Unpicklable
from tritonclient_shim import notice
from tritonclient_shim.core.ids import next_request_id

if TYPE_CHECKING:
    from tritonclient_shim.session.server import ServerSession

_T = TypeVar("_T")
_Self = TypeVar("_Self", bound="ServerContext")
HttpHeaders = Union[Sequence[Union[str, bytes]], None]


class ServerContext(Unpicklable):
    """A session with one server, the last request's id, ``close`` and ``with``."""

    _notice_id = ""  # the class's id in tritonclient_shim.registry
    _closed_name = ""  # the class's name in v1's texts, also in users' subclasses
    _ctx: ServerSession | None = None
    _last_request_id: int | None = 0

    def _open(self, url: Any, protocol: Any, verbose: Any, http_headers: Any) -> None:
        """Check the arguments, in v1's order, and make the session; nothing is sent to the server
        (docs/v1-behaviour.md §6).
        """
        notice.used(self._notice_id)
        _lazy_imports.headers.check_kinds(http_headers)
        number = int(protocol)
        address = _lazy_imports.arguments.text(url, "url", 2, "replace")
        self._check_arguments()
        server = _lazy_imports.endpoint.parse_url(address, protocol_of(number))
        headers = _lazy_imports.headers.parse_headers(http_headers, server.protocol)
        self._ctx = _lazy_imports.server.ServerSession(server, headers, bool(verbose))

    def _check_arguments(self) -> None:
        """Check further arguments of a subclass, at the place in v1's order."""

    def _call(self, operation: Callable[[ServerSession, int], _T], keep_id: bool) -> _T:
        """Run one operation under a new request id → what it returns.

        The context then has that id as the last request's, or 0 for calls whose id v1 did not
        keep; after a failure it has None (docs/v1-behaviour.md §6).
        """
        self._last_request_id = None
        session, request_id = self._session(), next_request_id()
        answer = operation(session, request_id)
        self._last_request_id = request_id if keep_id else 0
        return answer

    def _session(self) -> ServerSession:
        if self._ctx is None:
            raise _lazy_imports.errors.InferenceServerException(f"{self._closed_name} is closed")
        return self._ctx

    def get_last_request_id(self) -> int | None:
        """The request id of the last call.

        Deprecated [TS046], see migration_guide.md#what-the-last-request-was. Instead: client
        calls take request ids for inference alone; your log can number the others.

        Returns
        -------
        int or None
            The number that this process gave the request, because a v2 server gives none
            (docs/v1-behaviour.md §4.5). 0 before the first call and after calls whose id v1 did
            not keep, None after a failed call (docs/v1-behaviour.md §6).
        """
        notice.used("TS046")
        return self._last_request_id

    def close(self) -> None:
        """Close the context; a second call does nothing (docs/v1-behaviour.md §6).

        Every other call to the server then raises InferenceServerException.
        """
        session, self._ctx = self._ctx, None
        if session is not None:
            session.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # As in v1, also at the interpreter's end: unlike InferContext's, this close does not wait,
        # and takes no lock that a stopped thread could hold.
        self.close()

"""One legacy context's hold on one server: its backend, the server's id, v1's two error families.

The errors of a legacy call are of the *server family* (the server refused: its id, a positive
request id) or of the *client family* (server id '', request id 0), see docs/v1-behaviour.md §1.6.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Iterator

from tritonclient_shim import settings
from tritonclient_shim.backends import open_backend, proxy_of
from tritonclient_shim.backends.base import Backend, call_with, current_headers
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InferenceServerException,
    InvalidRequest,
    ServerError,
    TransportError,
    UnreadableReply,
    shown_cause,
)
from tritonclient_shim.core.model import Endpoint, ServerMetadata, next_request_id
from tritonclient_shim.servers.known import KnownServer
from tritonclient_shim.settings.addresses import join_port, without_user
from tritonclient_shim.translate.constructors import Headers
from tritonclient_shim.translate.to_v1 import RequestContext, v1_text

_NOTHING = RequestContext()
#: HTTP status of a server that is no v2 server → what to check.
_REMEDIES = {
    401: "give the credentials in the url or in TRITON_SHIM_HTTP_HEADERS",
    403: "the credentials may not do this: check them, and the rules of the proxy",
    404: "nothing is served at this path: check the address, with its path prefix",
    407: "the proxy wants credentials: give them in its variable",
    413: "a proxy limits the size of requests: raise its limit (nginx: client_max_body_size)",
    502: "a proxy answers, and cannot reach the server behind it",
    503: "a proxy answers, and has no server behind it that is ready",
    504: "a proxy answers, and the server behind it took too long",
}


def shown_status(status: int) -> str:
    """Return an HTTP status by number and name, with what to check."""
    try:
        name = f" {HTTPStatus(status).phrase}"
    except ValueError:
        name = ""
    remedy = f": {_REMEDIES[status]}" if status in _REMEDIES else ""
    return f"the answer is HTTP {status}{name}{remedy}"


class _OpenedOnFirstUse:
    """The attribute ``backend`` of a session without one: it opens the backend and keeps it.

    It raises TransportError once the session is closed.
    """

    def __get__(self, session: ServerSession, _: object = None) -> Backend:
        session.check_open()
        ours = open_backend(session.endpoint, session.headers, session.settings)
        backend: Backend = vars(session).setdefault("backend", ours)
        if backend is not ours:  # another thread was first
            ours.close()
        if session.is_closed:  # meanwhile, and may have found no backend to close
            session.close()
            session.check_open()
        return backend


class ServerSession:
    """A server seen from one context. Opens its backend on first use; any thread may call.

    The settings are those of the moment it is made; SettingsError when one cannot be used. None
    are read where a ``backend`` is given: it has its connection. ``owner`` is the class of the
    legacy context, for the error of calls after :meth:`close`.
    """

    #: The open backend. Raises BackendError when the endpoint cannot even be tried.
    backend = _OpenedOnFirstUse()

    def __init__(
        self,
        endpoint: Endpoint,
        headers: Headers = (),
        verbose: bool = False,
        backend: Backend | None = None,
        owner: str = "the connection",
    ) -> None:
        self.endpoint = endpoint
        self.is_closed = False
        self._owner = owner
        self.headers = headers
        self.verbose = verbose
        self.settings = settings.DEFAULTS if backend else settings.current()
        if backend is not None:
            vars(self)["backend"] = backend

    def close(self) -> None:
        """Give the backend up for ever; idempotent."""
        self.is_closed = True
        backend = vars(self).pop("backend", None)
        if backend is not None:
            backend.close()

    def check_open(self) -> None:
        """Raise TransportError if the session is closed."""
        if self.is_closed:
            raise TransportError(self._closed_text)

    @property
    def _closed_text(self) -> str:
        """Return v1's text for a closed context."""
        return f"{self._owner} is closed"

    def server_id(self) -> str:
        """Return the server's ``--id``, asked once per connection; '' if it does not tell.

        An error waits for it, so the server has a limited time.
        """
        try:
            known = self.backend.known_server()
            if known.metadata is None or not known.metadata.name:
                known.metadata = self._metadata(known)
        except (BackendError, RuntimeError, TimeoutError):
            return ""
        return known.metadata.name

    def _metadata(self, server: KnownServer) -> ServerMetadata:
        """Ask for the metadata of the server; see :meth:`Questions.ask`."""
        headers = current_headers()
        ask = partial(call_with, headers, self.backend.server_metadata)
        return server.questions.ask(("metadata", headers), ask)

    def server_error(
        self,
        message: str,
        request_id: int | None = None,
        status: str | None = None,
        debug_details: Any = None,
    ) -> InferenceServerException:
        """Return an error of the server family, with this server's id and a positive request id."""
        number = next_request_id() if request_id is None else request_id
        return InferenceServerException(message, self.server_id(), number, status, debug_details)

    def to_v1_error(
        self,
        error: BackendError,
        request_id: int | None = None,
        no_status_text: str = "request did not return status",
        asked: RequestContext = _NOTHING,
    ) -> InferenceServerException:
        """Return the error to raise from what went wrong below.

        ``no_status_text`` is v1's sentence for an answer of somebody who is no inference
        server, e.g. ``status request did not return status``; ``asked`` fills what the
        server's sentence leaves out. A reworded message keeps the server's own as
        ``debug_details()``; a failed connection has where to look there.
        """
        if isinstance(error, ServerError):
            worded = isinstance(error, InvalidRequest)
            message = error.message if worded else v1_text(error.message, asked)
            details = None if message == error.message else error.message
            return self.server_error(message, request_id, error.status, details)
        if isinstance(error, TransportError):
            if self.is_closed:  # no matter how far the call had come
                return InferenceServerException(self._closed_text)
            if error.__cause__ or error.status:
                return self._connection_error(error.message, error.status or None)
            return InferenceServerException(error.message)  # refused, or ended, by this side
        message = error.message if isinstance(error, UnreadableReply) else no_status_text
        http_status = error.http_status if isinstance(error, ForeignError) else 0
        return self._connection_error(message, http_status=http_status)

    def _connection_error(
        self, message: str, status: str | None = None, http_status: int = 0
    ) -> InferenceServerException:
        """Return an error of the client family, with where to look beside v1's text.

        ``debug_details()`` has the address and the command that tells what is wrong with it. It
        names the HTTP status of somebody who is no v2 server, and the proxy. From Python 3.11 on
        tracebacks show them as a note.
        """
        import shlex

        protocol = self.endpoint.protocol
        address = without_user(self.endpoint.address)
        url = shlex.quote(f"https://{address}" if self.endpoint.secure else address)
        command = f"tritonclient-shim doctor --url {url} --protocol {protocol}"
        question = f"is this Triton's {self.endpoint.rules.title} port?"
        clues = [shown_status(http_status)] if http_status else []
        clues += [self.shown_proxy()] if self.shown_proxy() else []
        advice = f"({'; '.join([address, *clues, question])} {command})"
        error = InferenceServerException(message, "", 0, status, advice)
        if sys.version_info >= (3, 11):
            error.add_note(advice)
        return error

    def shown_proxy(self) -> str:
        """Return which proxy calls take, by which variable, and how to avoid it; '' without one."""
        try:
            proxy = proxy_of(self.endpoint, self.settings)
        except ValueError:  # its own error reports it
            return ""
        if proxy is None:
            return ""
        return (
            f"calls take the proxy {join_port(proxy.host, proxy.port)} of {proxy.variable}; add "
            "the server's host to no_proxy to go without"
        )

    @contextmanager
    def guard(
        self,
        request_id: int | None = None,
        no_status_text: str = "request did not return status",
        asked: RequestContext = _NOTHING,
        needs: tuple[str, str] | None = None,
    ) -> Iterator[None]:
        """Raise a BackendError of the block as InferenceServerException, chained to it.

        ``needs`` names an extension of KServe v2 that the block needs, and what to do without it.
        """
        try:
            try:
                yield
            except BackendError as backend_error:
                if needs is not None and backend_error.no_such_call:
                    self._check_extension(needs, backend_error)
                raise
        except BackendError as backend_error:
            error = self.to_v1_error(backend_error, request_id, no_status_text, asked)
            raise error from shown_cause(backend_error)

    def _check_extension(self, needs: tuple[str, str], error: BackendError) -> None:
        """Raise InvalidRequest if the server can be asked what it is, after it had no such call."""
        name, remedy = needs
        try:
            metadata = self._metadata(self.backend.known_server())
        except (BackendError, RuntimeError, TimeoutError):
            return
        raise InvalidRequest(
            f"this call needs a server with the extension {name}, and the server "
            f"'{metadata.title}' has no such call over {self.endpoint.protocol}; expected one that "
            f"has it: {remedy}",
            "UNIMPLEMENTED",
        ) from error


def unwrap(context: Any) -> Any:
    """Return the live tritonclient client of a context, for everything that the old API never had.

    It uses the context's connections, HTTP headers and settings (TLS, time-outs). Any
    thread may use it, over HTTP as well, which tritonclient's own clients do not allow. Its
    errors are tritonclient's, and ``tensorrtserver.api.InferenceServerException`` catches them
    too.

    Parameters
    ----------
    context
        Any open context of ``tensorrtserver.api``.

    Returns
    -------
    tritonclient.http.InferenceServerClient or tritonclient.grpc.InferenceServerClient
        By the context's protocol; the same object every time. Use it while the context is open.
        Closing it does not close the context.

    Raises
    ------
    InferenceServerException
        The context is closed, or its url is none.
    TypeError
        `context` is something else.
    """
    session = getattr(context, "_ctx", False)
    if session is None:
        name = type(context).__name__
        raise InferenceServerException(
            f"{name} is closed; unwrap() needs an open context, and its client ends with it"
        )
    if not isinstance(session, ServerSession):
        raise TypeError(
            f"unwrap() takes a context of tensorrtserver.api, got {type(context).__name__}"
        )
    with session.guard():
        return session.backend.client()

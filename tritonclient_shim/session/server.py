"""One legacy context's hold on one server: its backend, the server's id, v1's two error families.

The errors of a legacy call are of the *server family* (the server refused: its id, a positive
request id) or of the *client family* (server id '', request id 0), see docs/v1-behaviour.md §1.6.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any, Iterator

from tritonclient_shim import settings
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.addresses import without_user
from tritonclient_shim.core.errors import (
    Fault,
    InferenceServerException,
    Refusal,
    ServerFault,
    TransportFault,
    UnreadableFault,
    shown_cause,
)
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import GRPC, Endpoint
from tritonclient_shim.session import descriptions
from tritonclient_shim.translate.headers import Headers
from tritonclient_shim.translate.wording import RequestContext, v1_text

_NOTHING = RequestContext()


class ServerSession:
    """A server seen from one context. Opens its backend on first use; any thread may call.

    The settings are those of the moment it is made; SettingsError when one cannot be used. None
    are read where a ``backend`` is given: it has its connection.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        headers: Headers = (),
        verbose: bool = False,
        backend: Backend | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.headers = headers
        self.verbose = verbose
        self.settings = settings.DEFAULTS if backend else settings.current()
        self._opened: dict[str, Backend] = {} if backend is None else {"backend": backend}
        self._server_id = ""

    @property
    def backend(self) -> Backend:
        """The open backend. Raises Fault when the endpoint cannot even be tried."""
        backend = self._opened.get("backend")
        return backend or self._open()

    def _open(self) -> Backend:
        ours = open_backend(self.endpoint, self.headers, self.settings)
        backend = self._opened.setdefault("backend", ours)
        if backend is not ours:  # another thread was first
            ours.close()
        return backend

    def close(self) -> None:
        """Give the backend up; idempotent."""
        backend = self._opened.pop("backend", None)
        if backend is not None:
            backend.close()

    def server_id(self) -> str:
        """The server's ``--id``, asked of it once; '' when it does not tell."""
        if not self._server_id:
            try:
                self._server_id = self.backend.server_metadata().name
            except Fault:
                return ""
        return self._server_id

    def server_error(
        self,
        message: str,
        request_id: int | None = None,
        status: str | None = None,
        debug_details: Any = None,
    ) -> InferenceServerException:
        """An error of the server family, with this server's id and a positive request id."""
        number = next_request_id() if request_id is None else request_id
        return InferenceServerException(message, self.server_id(), number, status, debug_details)

    def client_error(self, message: str, status: str | None = None) -> InferenceServerException:
        """An error of the client family: server id '', request id 0."""
        return InferenceServerException(message, "", 0, status)

    def fault_to_error(
        self,
        fault: Fault,
        request_id: int | None = None,
        no_status_text: str = "request did not return status",
        asked: RequestContext = _NOTHING,
    ) -> InferenceServerException:
        """What went wrong below → the error to raise from it.

        ``no_status_text`` is v1's sentence for an answer of somebody who is no inference
        server, e.g. ``status request did not return status``; ``asked`` fills what the
        server's sentence leaves out. A reworded message keeps the server's own as
        ``debug_details()``; a failed connection has where to look there.
        """
        if isinstance(fault, ServerFault):
            worded = isinstance(fault, Refusal)
            message = fault.message if worded else v1_text(fault.message, asked)
            details = None if message == fault.message else fault.message
            return self.server_error(message, request_id, fault.status, details)
        if isinstance(fault, TransportFault):
            if fault.__cause__ or fault.status:
                return self._connection_error(fault.message, fault.status or None)
            return self.client_error(fault.message)  # refused, or ended, by this side
        message = fault.message if isinstance(fault, UnreadableFault) else no_status_text
        return self._connection_error(message)

    def _connection_error(
        self, message: str, status: str | None = None
    ) -> InferenceServerException:
        """An error of the client family, with where to look beside v1's text.

        ``debug_details()`` has that, and from Python 3.11 on tracebacks show it as a note.
        """
        advice = self._where_to_look()
        error = InferenceServerException(message, "", 0, status, advice)
        if sys.version_info >= (3, 11):
            error.add_note(advice)
        return error

    def _where_to_look(self) -> str:
        """The address that was asked, and the command that tells what is wrong with it."""
        import shlex

        endpoint = self.endpoint
        address = without_user(endpoint.address)
        url = f"https://{address}" if endpoint.secure else address
        name = "gRPC" if endpoint.protocol == GRPC else "HTTP"
        command = (
            f"tritonclient-shim doctor --url {shlex.quote(url)} --protocol {endpoint.protocol}"
        )
        return f"({address}; is this Triton's {name} port? {command})"

    @contextmanager
    def needing(self, extension: str, remedy: str) -> Iterator[None]:
        """Let a Fault of the block tell of the extension, where the server does not have it."""
        try:
            yield
        except Fault as fault:
            told = descriptions.lacking(self.backend, fault, extension, remedy)
            if told is fault:
                raise
            raise told from fault

    @contextmanager
    def guard(
        self,
        request_id: int | None = None,
        no_status_text: str = "request did not return status",
        asked: RequestContext = _NOTHING,
    ) -> Iterator[None]:
        """Raise a Fault of the block as InferenceServerException, chained to it."""
        try:
            yield
        except Fault as fault:
            raise self.fault_to_error(fault, request_id, no_status_text, asked) from shown_cause(
                fault
            )

"""A server in this process as a backend: its statuses, its threads and streams, its end.

It passes the tests of the contract that the backends of Triton pass.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from functools import partial
from typing import Any, Callable

from tritonclient_shim.backends.base import (
    Done,
    Outcome,
    StreamEnd,
    StreamingBackend,
    StreamReply,
)
from tritonclient_shim.backends.in_process.declared import HTTP_STATUS
from tritonclient_shim.backends.in_process.server import InProcessServer
from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import (
    BackendError,
    ServerError,
    StreamEnded,
    TransportError,
    Unsendable,
)
from tritonclient_shim.core.model import HTTP, Endpoint, InferCall
from tritonclient_shim.core.reading import outcome_of
from tritonclient_shim.servers.known import KnownServer

_MOST_THREADS = 64
_NOBODY = {
    HTTP: "HTTP client failed: Couldn't connect to server",
    "grpc": "GRPC client failed: 14: Connect Failed",
}
_CLOSED = "Stream has been closed."


def _asked(question: Callable[..., Any]) -> Any:
    """Return a method that asks the server by ``question``, which gets its arguments."""

    def ask(self: InProcessBackend, *arguments: Any) -> Any:
        self._check()
        return self._answer(question, *arguments)

    return ask


class InProcessBackend(StreamingBackend):
    """See :class:`tritonclient_shim.backends.base.StreamingBackend`."""

    def __init__(self, endpoint: Endpoint, server: InProcessServer) -> None:
        self.endpoint = endpoint
        self._server = server
        self._closed = False
        self._threads = DaemonExecutor(_MOST_THREADS, "in-process")
        self._known_server = KnownServer()

    _health = _asked(lambda server, kind: True)
    server_metadata = _asked(InProcessServer.metadata)
    model_config = _asked(InProcessServer.config)
    statistics = _asked(InProcessServer.statistics)
    repository_index = _asked(InProcessServer.index)
    load = _asked(InProcessServer.load)
    unload = _asked(InProcessServer.unload)
    infer = _asked(InProcessServer.infer)
    register_system = _asked(lambda server, *region: server.regions.register(*region))
    register_cuda = _asked(lambda server, *region: server.regions.refuse_cuda(*region))
    unregister = unregister_all = _asked(lambda server, *name: server.regions.unregister(*name))
    shm_status = _asked(lambda server: server.regions.status())

    def known_server(self) -> KnownServer:
        """Return what is known of the server: it has model configurations."""
        return self._known_server

    def infer_async(self, call: InferCall, done: Done) -> None:
        """Run it on another thread, with a copy of the caller's data."""
        try:
            self._check()
        except BackendError as error:
            done(error)
        else:
            taken = _copied(call)
            self._threads.execute(lambda: done(self._outcome(taken)))

    def open_stream(self, on_reply: StreamReply, on_end: StreamEnd) -> _InProcessStream:
        """Open a stream that answers one request after the other."""
        return _InProcessStream(self._outcome, on_reply, on_end)

    def _outcome(self, call: InferCall) -> Outcome:
        return outcome_of(self._answer, InProcessServer.infer, call)

    def client(self) -> Any:
        """There is no connection that a tritonclient client could use."""
        raise Unsendable(
            f"the server at {self.endpoint.address} is one of tritonclient_shim.testing, inside "
            "this process, which no tritonclient client can reach; unwrap() needs a real server"
        )

    def close(self) -> None:
        """Idempotent; what is under way is still answered."""
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise TransportError(f"the backend of {self.endpoint.address} is closed")
        if not self._server.running:
            raise TransportError(_NOBODY[self.endpoint.protocol]) from ConnectionRefusedError()

    def _answer(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Ask the server. Its refusals have the status that tritonclient gives them."""
        try:
            return question(self._server, *arguments)
        except ServerError as error:
            over_http = self.endpoint.protocol == HTTP
            status = HTTP_STATUS.get(error.code, 500) if over_http else f"StatusCode.{error.code}"
            refusal = ServerError(error.message, error.code, str(status))
            refusal.model_exception = error.model_exception
            raise refusal from error


class _InProcessStream:
    """See :class:`tritonclient_shim.backends.base.InferStream`."""

    def __init__(
        self,
        outcome: Callable[[InferCall], Outcome],
        on_reply: StreamReply,
        on_end: StreamEnd,
    ) -> None:
        self._outcome = outcome
        self._on_reply = on_reply
        self._on_end = on_end
        self._thread = DaemonExecutor(1, "in-process-stream")
        self._cancelled = False
        self._error: BackendError | None = None
        self._ended: Future[None] | None = None

    def send(self, call: InferCall) -> None:
        """Queue one request; StreamEnded, and nothing queued, when the stream is closed."""
        if self._ended is not None or self._error is not None:
            raise StreamEnded(_CLOSED)
        self._thread.execute(partial(self._answer, _copied(call)))

    def close(self, wait: bool = True) -> None:
        """Take no more requests; with ``wait``, until all have been answered."""
        if self._ended is None:
            self._ended = self._thread.submit(self._end)
        if wait and not threading.current_thread().name.startswith("in-process-stream"):
            self._ended.result()

    def cancel(self) -> None:
        """Answer nothing that has not been answered."""
        self._cancelled = True
        self.close(wait=False)

    def _answer(self, call: InferCall) -> None:
        if not self._cancelled and self._error is None:
            try:
                self._on_reply(call.request_id, self._outcome(call))
            except BackendError as error:
                self._error = error
                self.close(wait=False)

    def _end(self) -> None:
        self._on_end(self._error or (TransportError(_CLOSED) if self._cancelled else None))


def _copied(call: InferCall) -> InferCall:
    """Return the call with its data in buffers of its own: the caller may change his at once."""
    inputs = tuple(tensor._replace(chunks=(b"".join(tensor.chunks),)) for tensor in call.inputs)
    return call._replace(inputs=inputs)

"""A server in this process as a backend: its statuses, its threads and streams, its end."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import contextmanager
from typing import Any, Awaitable, Callable, Iterator, Mapping, Sequence, TypeVar

from tritonclient_shim.backends.base import CallHeaders, Done, Outcome, StreamEnd, StreamReply
from tritonclient_shim.backends.in_process.declared import HTTP_STATUS
from tritonclient_shim.backends.in_process.server import InProcessServer
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import (
    Fault,
    ServerFault,
    StreamEnded,
    TransportFault,
    Unsendable,
)
from tritonclient_shim.core.metadata import KnownServer, ModelMetadata, ServerMetadata
from tritonclient_shim.core.model import (
    HTTP,
    Endpoint,
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)

_MOST_THREADS = 64
_NOBODY = {
    HTTP: "HTTP client failed: Couldn't connect to server",
    "grpc": "GRPC client failed: 14: Connect Failed",
}
_CLOSED = "Stream has been closed."
_Told = TypeVar("_Told")


class InProcessBackend:
    """See :class:`tritonclient_shim.backends.base.StreamingBackend`."""

    def __init__(self, endpoint: Endpoint, server: InProcessServer) -> None:
        self.endpoint = endpoint
        self._server = server
        self._closed = False
        self._threads = DaemonExecutor(_MOST_THREADS, "in-process")

    def live(self) -> bool:
        """As long as the server runs."""
        return self._ask(lambda server: True)

    def ready(self) -> bool:
        """As long as the server runs."""
        return self._ask(lambda server: True)

    def server_metadata(self) -> ServerMetadata:
        """See :class:`InProcessServer`."""
        return self._ask(lambda server: server.metadata())

    def known_server(self) -> KnownServer:
        """It has model configurations, and needs not be asked for more."""
        return KnownServer()

    def model_metadata(self, name: str) -> ModelMetadata:
        """See :class:`InProcessServer`."""
        return self._ask(lambda server: server.model_metadata(name))

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """See :class:`InProcessServer`."""
        return self._ask(lambda server: server.config(name, version))

    def model_configs(self, names: Sequence[str]) -> Mapping[str, ModelConfigDocument]:
        """Return the configurations of several models, without those that are refused."""
        found = {}
        for name in names:
            try:
                found[name] = self.model_config(name)
            except ServerFault:
                continue
        self.live()  # so that a server that has ended is noticed without names, too
        return found

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """See :class:`InProcessServer`."""
        return self._ask(lambda server: server.statistics(name, version))

    def repository_index(self) -> tuple[IndexRow, ...]:
        """See :class:`InProcessServer`."""
        return self._ask(lambda server: server.index())

    def load(self, name: str) -> None:
        """See :class:`InProcessServer`."""
        self._ask(lambda server: server.load(name))

    def unload(self, name: str) -> None:
        """See :class:`InProcessServer`."""
        self._ask(lambda server: server.unload(name))

    def infer(self, call: InferCall) -> InferReply:
        """Run the model's function on this thread."""
        return self._ask(lambda server: server.infer(call))

    def infer_async(self, call: InferCall, done: Done) -> None:
        """Run it on another thread, with a copy of the caller's data."""
        try:
            self._check()
        except Fault as fault:
            done(fault)
        else:
            taken = _copied(call)
            self._threads.execute(lambda: done(self._outcome(taken)))

    def infer_in_loop(self, call: InferCall) -> Callable[[], Awaitable[Outcome]]:
        """Return a coroutine function that runs the model on another thread."""
        taken = _copied(call)

        async def outcome() -> Outcome:
            try:
                self._check()
            except Fault as fault:
                return fault
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._outcome, taken)

        return outcome

    def open_stream(
        self, on_reply: StreamReply, on_end: StreamEnd, headers: CallHeaders = ()
    ) -> _InProcessStream:
        """Open a stream that answers one request after the other; no model sees ``headers``."""
        return _InProcessStream(self._outcome, on_reply, on_end)

    def _outcome(self, call: InferCall) -> InferReply | Fault:
        try:
            with self._statuses():
                return self._server.infer(call)
        except Fault as fault:
            return fault

    def register_system(self, name: str, key: str, byte_size: int, offset: int = 0) -> None:
        """See :class:`Regions`."""
        self._ask(lambda server: server.regions.register(name, key, byte_size, offset))

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """See :class:`Regions`."""
        self._ask(lambda server: server.regions.refuse_cuda(name))

    def unregister(self, name: str) -> None:
        """See :class:`Regions`."""
        self._ask(lambda server: server.regions.unregister(name))

    def unregister_all(self) -> None:
        """See :class:`Regions`."""
        self._ask(lambda server: server.regions.unregister_all())

    def shm_status(self) -> tuple[RegisteredRegion, ...]:
        """See :class:`Regions`."""
        return self._ask(lambda server: server.regions.status())

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
            raise TransportFault(f"the backend of {self.endpoint.address} is closed")
        if not self._server.running:
            raise TransportFault(_NOBODY[self.endpoint.protocol]) from ConnectionRefusedError()

    def _ask(self, question: Callable[[InProcessServer], _Told]) -> _Told:
        self._check()
        with self._statuses():
            return question(self._server)

    @contextmanager
    def _statuses(self) -> Iterator[None]:
        """Let refusals of the block have the status that tritonclient gives them."""
        try:
            yield
        except ServerFault as fault:
            over_http = self.endpoint.protocol == HTTP
            status = HTTP_STATUS.get(fault.code, 500) if over_http else f"StatusCode.{fault.code}"
            raise ServerFault(fault.message, fault.code, str(status)) from fault


class _InProcessStream:
    """See :class:`tritonclient_shim.backends.base.InferStream`."""

    def __init__(
        self,
        outcome: Callable[[InferCall], InferReply | Fault],
        on_reply: StreamReply,
        on_end: StreamEnd,
    ) -> None:
        self._outcome, self._on_reply, self._on_end = outcome, on_reply, on_end
        self._calls: deque[InferCall] = deque()
        self._changed = threading.Condition()
        self._closed = self._cancelled = False
        self._reader = threading.Thread(target=self._work, name="in-process-stream", daemon=True)
        self._reader.start()

    def send(self, call: InferCall) -> None:
        """Queue one request; StreamEnded, and nothing queued, when the stream is closed."""
        taken = _copied(call)
        with self._changed:
            if self._closed:
                raise StreamEnded(_CLOSED)
            self._calls.append(taken)
            self._changed.notify_all()

    def close(self, wait: bool = True) -> None:
        """Take no more requests; with ``wait``, until all have been answered."""
        self._closed = True
        if self._changed.acquire(blocking=wait):
            self._changed.notify_all()
            self._changed.release()
        if wait and threading.current_thread() is not self._reader:
            self._reader.join()

    def cancel(self) -> None:
        """Answer nothing that has not been answered."""
        self._cancelled = True
        self.close(wait=False)

    def _work(self) -> None:
        ended: Fault | None = None
        try:
            while True:
                call = self._next()
                if call is None:
                    break
                self._on_reply(call.request_id, self._outcome(call))
        except Fault as fault:
            ended = fault
        self._closed = True
        self._on_end(TransportFault(_CLOSED) if self._cancelled and ended is None else ended)

    def _next(self) -> InferCall | None:
        """Return the next request; None when the stream has ended."""
        with self._changed:
            while not self._calls and not self._closed:
                # close() may come from the garbage collector, and then takes no lock
                self._changed.wait(0.1)
            return self._calls.popleft() if self._calls and not self._cancelled else None


def _copied(call: InferCall) -> InferCall:
    """Return the call with its data in buffers of its own: the caller may change his at once."""
    inputs = tuple(one._replace(chunks=(b"".join(one.chunks),)) for one in call.inputs)
    return call._replace(inputs=inputs)

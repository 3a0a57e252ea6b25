"""The contract of a backend, as the session uses it. Its tests run over every backend.

The requests of control calls are here once, their replies in ``replies.py``.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import (
    Any,
    Awaitable,
    Callable,
    Hashable,
    Mapping,
    Protocol,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from tritonclient_shim.backends import replies
from tritonclient_shim.backends.replies import JsonFields
from tritonclient_shim.core.errors import BackendError, ServerError
from tritonclient_shim.core.model import (
    Endpoint,
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelMetadata,
    ModelStatistics,
    RegisteredRegion,
    ServerMetadata,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.servers.known import KnownServer

T = TypeVar("T")
Outcome = Union[InferReply, BackendError]

#: Names and values of headers, or of metadata.
CallHeaders = Tuple[Tuple[str, str], ...]

#: Receives the outcome of one asynchronous call, once, on a thread of the backend, or on the
#: caller's before ``infer_async`` returns; must return quickly and never raise.
Done = Callable[[Outcome], None]


class _Current(threading.local):
    """No context variable: a thread that is started meanwhile must not keep its credentials."""

    headers: CallHeaders = ()


_current = _Current()


def current_headers() -> CallHeaders:
    """Return the headers, or metadata, for this thread's calls; names are in lower case.

    Every call to a server takes them when it is made, inferences and streams too. The gateway sets
    them. A context's own headers, and the options of a stub's call, are in its backend.
    """
    return _current.headers


def call_with(headers: CallHeaders, function: Callable[..., T], *arguments: object) -> T:
    """Call the function; ``headers`` go with each call to a server that it makes."""
    before, _current.headers = _current.headers, headers
    try:
        return function(*arguments)
    finally:
        _current.headers = before


class Backend:
    """One server over one protocol. Every method may be used from any thread at any time.

    Methods raise :class:`~tritonclient_shim.core.errors.BackendError` and nothing else for what the
    server or the network does. ``infer`` and ``infer_async`` have read the caller's
    buffers completely when they return.
    """

    endpoint: Endpoint
    #: Whose calls these are, if several users with options of their own share a connection.
    user: Hashable = None

    def live(self) -> bool:
        """Return the server's answer to GET /v2/health/live, ServerLive."""
        return self._health("live")

    def ready(self) -> bool:
        """Return the server's answer to GET /v2/health/ready, ServerReady."""
        return self._health("ready")

    def _health(self, kind: str) -> bool:
        raise NotImplementedError

    def known_server(self) -> KnownServer:
        """Return what this process knows of the server behind the connection; asks nothing.

        Another object once the connection has been lost: then another server may listen there.
        """
        raise NotImplementedError

    def infer(self, call: InferCall) -> InferReply:
        """Make one inference, without a time limit unless the settings give one."""
        raise NotImplementedError

    def infer_async(self, call: InferCall, done: Done) -> None:
        """Send now, hand the outcome to ``done`` later; really concurrent."""
        raise NotImplementedError

    def client(self) -> Any:
        """Return the live tritonclient client behind this backend, safe to use from any thread."""
        raise NotImplementedError

    def close(self) -> None:
        """Give up this user's share of the connections; idempotent."""
        raise NotImplementedError

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """Return the configuration; ServerError NOT_FOUND if the model is unknown or unloaded."""
        raise NotImplementedError

    def model_configs(self, names: Sequence[str]) -> Mapping[str, ModelConfigDocument]:
        """Return several configurations, without those that the server refuses to send."""
        documents = {}
        for name in names:
            with suppress(ServerError):
                documents[name] = self.model_config(name)
        return documents

    def _ask(self, call: str, name: str = "", **fields: Any) -> JsonFields:
        """Make a control call, named as the gRPC service does, about a model or a region.

        ``fields`` are those of its request besides the name. Raise BackendError, with the name as
        the user wrote it.
        """
        raise NotImplementedError

    def server_metadata(self) -> ServerMetadata:
        """Return name (``--id``), version and extensions."""
        return read(replies.server_metadata, self._ask("ServerMetadata"))

    def model_metadata(self, name: str) -> ModelMetadata:
        """Return the tensors that a model declares."""
        return read(replies.model_metadata, self._ask("ModelMetadata", name))

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """Return the statistics of one model, or of all."""
        return read(replies.statistics, self._ask("ModelStatistics", name, version=version))

    def repository_index(self) -> tuple[IndexRow, ...]:
        """Return a row per model version."""
        return read(replies.index_rows, self._ask("RepositoryIndex"))

    def load(self, name: str) -> None:
        """Load a model; return when it is ready or has failed."""
        self._command("RepositoryModelLoad", name)

    def unload(self, name: str) -> None:
        """Unload a model; return at once. Models that an ensemble needed stay loaded."""
        self._command("RepositoryModelUnload", name)

    def _command(self, call: str, name: str) -> None:
        self._ask(call, name)

    def register_system(self, name: str, key: str, byte_size: int, offset: int = 0) -> None:
        """Register a POSIX shared-memory object; sizes in bytes."""
        place = {"key": key, "offset": offset, "byte_size": byte_size}
        self._ask("SystemSharedMemoryRegister", name, **place)
        self.known_server().region_sizes[name] = byte_size

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """Register the device memory of a 64-byte IPC handle."""
        place = {"raw_handle": raw_handle, "device_id": device_id, "byte_size": byte_size}
        self._ask("CudaSharedMemoryRegister", name, **place)
        self.known_server().region_sizes[name] = byte_size

    def unregister(self, name: str) -> None:
        """Forget a region of either kind: v1 had one name space. The name '' is no region."""
        if name:  # v2 takes '' for all regions
            self._unregister(name)

    def unregister_all(self) -> None:
        """Forget all regions of both kinds."""
        self.known_server().region_sizes.clear()
        self._unregister("")

    def _unregister(self, name: str) -> None:
        self.known_server().region_sizes.pop(name, None)
        self._ask("SystemSharedMemoryUnregister", name)
        self._ask("CudaSharedMemoryUnregister", name)

    def shm_status(self) -> tuple[RegisteredRegion, ...]:
        """Return the regions of both kinds under their users' names."""
        system = read(replies.regions, "system", self._ask("SystemSharedMemoryStatus"))
        return system + read(replies.regions, "cuda", self._ask("CudaSharedMemoryStatus"))


class InferStream(Protocol):
    """One bidirectional inference stream. ``send`` may be called from any thread."""

    def send(self, call: InferCall) -> None:
        """Queue one request; StreamEnded, and nothing sent, when the stream is broken or closed."""

    def close(self, wait: bool = True) -> None:
        """Half-close; with ``wait``, until the server has answered everything. Idempotent."""

    def cancel(self) -> None:
        """Drop the stream at once; everything unanswered is lost."""


#: Receives (wire id, outcome) for each answer of a stream, in order of arrival, on the stream's
#: one reader thread. The wire id is ``InferCall.request_id`` as the server repeats it, "" when it
#: names none. A BackendError that the function raises ends the stream.
StreamReply = Callable[[str, Outcome], None]
#: Called once, after the last StreamReply, with the error that ended the stream, or with None
#: after a regular close.
StreamEnd = Callable[[Union[BackendError, None]], None]


class StreamingBackend(Backend):
    """A backend whose protocol has streams (gRPC)."""

    def infer_in_loop(self, call: InferCall) -> Callable[[], Awaitable[Outcome]]:
        """Return a coroutine function that sends the request, in any event loop.

        The caller's buffers have been read completely when this returns, on whichever thread.
        """
        raise NotImplementedError

    def open_stream(self, on_reply: StreamReply, on_end: StreamEnd) -> InferStream:
        """Open one stream of ModelStreamInfer."""
        raise NotImplementedError

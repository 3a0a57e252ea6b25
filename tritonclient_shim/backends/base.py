"""What the session asks of a protocol. The tests of this contract run over every backend."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Mapping, Protocol, Sequence, Tuple, Union

from tritonclient_shim.core.errors import Fault
from tritonclient_shim.core.metadata import KnownServer, ModelMetadata, ServerMetadata
from tritonclient_shim.core.model import (
    Endpoint,
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)

Outcome = Union[InferReply, Fault]

#: Names and values of headers, or of metadata.
CallHeaders = Tuple[Tuple[str, str], ...]

#: Receives the outcome of one asynchronous call, once, on a thread of the backend, or on the
#: caller's before ``infer_async`` returns; must return quickly and never raise.
Done = Callable[[Outcome], None]


class Backend(Protocol):
    """One server over one protocol. Every method may be used from any thread at any time.

    Methods raise :class:`tritonclient_shim.core.errors.Fault` and nothing else for whatever the
    server or the network does. ``infer`` and ``infer_async`` have read the caller's
    buffers completely when they return.
    """

    endpoint: Endpoint

    def live(self) -> bool:
        """GET /v2/health/live, ServerLive."""

    def ready(self) -> bool:
        """GET /v2/health/ready, ServerReady."""

    def server_metadata(self) -> ServerMetadata:
        """Name (``--id``), version and extensions of the server."""

    def known_server(self) -> KnownServer:
        """Return what this process knows of the server behind the connection; asks nothing.

        Another object once the connection has been lost: then another server may listen there.
        """

    def model_metadata(self, name: str) -> ModelMetadata:
        """Names, data types and shapes of a model's tensors, as far as it declares them."""

    def model_config(self, name: str, version: str = "") -> ModelConfigDocument:
        """Return the configuration; ServerFault NOT_FOUND if the model is unknown or unloaded."""

    def model_configs(self, names: Sequence[str]) -> Mapping[str, ModelConfigDocument]:
        """Several at once, pipelined; models the server refuses to describe are left out."""

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """Statistics of one model, or of all."""

    def repository_index(self) -> tuple[IndexRow, ...]:
        """One row per model version, rows without version for models never loaded."""

    def load(self, name: str) -> None:
        """Load or reload; returns when the model is ready or has failed (ServerFault)."""

    def unload(self, name: str) -> None:
        """Start unloading; returns at once (docs/v2-mapping.md §7)."""

    def infer(self, call: InferCall) -> InferReply:
        """One inference, no time limit unless the settings give one."""

    def infer_async(self, call: InferCall, done: Done) -> None:
        """Send now, hand the outcome to ``done`` later; really concurrent."""

    def register_system(self, name: str, key: str, byte_size: int, offset: int = 0) -> None:
        """Register a POSIX shared-memory object with the server under a region name."""

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """Register CUDA device memory by its 64-byte IPC handle."""

    def unregister(self, name: str) -> None:
        """Forget one region, system or CUDA; unknown names succeed."""

    def unregister_all(self) -> None:
        """Forget every system and CUDA region."""

    def shm_status(self) -> tuple[RegisteredRegion, ...]:
        """Return all registered regions, system first."""

    def client(self) -> Any:
        """Return the live tritonclient client behind this backend, safe to use from any thread."""

    def close(self) -> None:
        """Give up this user's share of the connections; idempotent."""


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
#: names none. A Fault that the function raises ends the stream.
StreamReply = Callable[[str, Outcome], None]
#: Called once, after the last StreamReply, with the fault that ended the stream, or with None
#: after a regular close.
StreamEnd = Callable[[Union[Fault, None]], None]


class StreamingBackend(Backend, Protocol):
    """A backend whose protocol has streams (gRPC)."""

    def infer_in_loop(self, call: InferCall) -> Callable[[], Awaitable[Outcome]]:
        """Return a coroutine function that sends the request, in any event loop.

        The caller's buffers have been read completely when this returns, on whichever thread.
        """

    def open_stream(
        self, on_reply: StreamReply, on_end: StreamEnd, headers: CallHeaders = ()
    ) -> InferStream:
        """Open one stream of ModelStreamInfer, with metadata of its own."""

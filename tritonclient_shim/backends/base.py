"""The contract of a backend, as the session uses it. Its tests run over every backend.

Control calls are here once: their requests, and how replies become records.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Awaitable, Callable, Mapping, Protocol, Sequence, Tuple, Union
from urllib.parse import unquote

from tritonclient_shim.core.errors import BackendError, ServerError
from tritonclient_shim.core.metadata import (
    KnownServer,
    ModelMetadata,
    ServerMetadata,
    TensorMetadata,
)
from tritonclient_shim.core.model import (
    BatchStatistics,
    Duration,
    Endpoint,
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)
from tritonclient_shim.core.reading import read

Outcome = Union[InferReply, BackendError]

#: Names and values of headers, or of metadata.
CallHeaders = Tuple[Tuple[str, str], ...]

#: Receives the outcome of one asynchronous call, once, on a thread of the backend, or on the
#: caller's before ``infer_async`` returns; must return quickly and never raise.
Done = Callable[[Outcome], None]


class Backend:
    """One server over one protocol. Every method may be used from any thread at any time.

    Methods raise :class:`~tritonclient_shim.core.errors.BackendError` and nothing else for what the
    server or the network does. ``infer`` and ``infer_async`` have read the caller's
    buffers completely when they return.
    """

    endpoint: Endpoint

    def live(self) -> bool:
        """Return the server's answer to GET /v2/health/live, ServerLive."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Return the server's answer to GET /v2/health/ready, ServerReady."""
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

    def _ask(self, call: str, name: str = "", **fields: Any) -> Fields:
        """Make a control call, named as the gRPC service does, about a model or a region.

        ``fields`` are those of its request besides the name. Raise BackendError, with the name as
        the user wrote it.
        """
        raise NotImplementedError

    def server_metadata(self) -> ServerMetadata:
        """Return name (``--id``), version and extensions."""
        return read(_server_metadata, self._ask("ServerMetadata"))

    def model_metadata(self, name: str) -> ModelMetadata:
        """Return the tensors that a model declares."""
        return read(_model_metadata, self._ask("ModelMetadata", name))

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """Return the statistics of one model, or of all."""
        return read(_statistics, self._ask("ModelStatistics", name, version=version))

    def repository_index(self) -> tuple[IndexRow, ...]:
        """Return a row per model version."""
        return read(_index_rows, self._ask("RepositoryIndex"))

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

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """Register the device memory of a 64-byte IPC handle."""
        place = {"raw_handle": raw_handle, "device_id": device_id, "byte_size": byte_size}
        self._ask("CudaSharedMemoryRegister", name, **place)

    def unregister(self, name: str) -> None:
        """Forget a region of either kind: v1 had one name space. The name '' is no region."""
        if name:  # v2 takes '' for all regions
            self._unregister(name)

    def unregister_all(self) -> None:
        """Forget all regions of both kinds."""
        self._unregister("")

    def _unregister(self, name: str) -> None:
        self._ask("SystemSharedMemoryUnregister", name)
        self._ask("CudaSharedMemoryUnregister", name)

    def shm_status(self) -> tuple[RegisteredRegion, ...]:
        """Return the regions of both kinds under their users' names."""
        system = self._ask("SystemSharedMemoryStatus")
        return read(_regions, system, self._ask("CudaSharedMemoryStatus"))


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

    def open_stream(
        self, on_reply: StreamReply, on_end: StreamEnd, headers: CallHeaders = ()
    ) -> InferStream:
        """Open one stream of ModelStreamInfer, with metadata of its own."""
        raise NotImplementedError


class Fields(Protocol):
    """A reply, or a part of it, whose members are checked when they are read.

    A method without a ``default`` raises UnreadableReply for a missing member.
    """

    def text(self, name: str, default: Any = ...) -> str:
        """Return a string."""

    def version(self, name: str) -> str:
        """Return a model version, '' without one."""

    def number(self, name: str, default: Any = ...) -> int:
        """Return a count, a size or a time."""

    def sizes(self, name: str) -> tuple[int, ...]:
        """Return a shape; () without one."""

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings; () without one."""

    def part(self, name: str) -> Fields | None:
        """Return a record; None without one."""

    def parts(self, name: str) -> Sequence[Fields]:
        """Return a list of records; [] without one."""


def _server_metadata(reply: Fields) -> ServerMetadata:
    return ServerMetadata(reply.text("name"), reply.text("version", ""), reply.texts("extensions"))


def _model_metadata(reply: Fields) -> ModelMetadata:
    inputs, outputs = (tuple(map(_tensor, reply.parts(side))) for side in ("inputs", "outputs"))
    return ModelMetadata(reply.text("name"), reply.text("platform", ""), inputs, outputs)


def _tensor(reply: Fields) -> TensorMetadata:
    return TensorMetadata(reply.text("name"), reply.text("datatype", ""), reply.sizes("shape"))


def _index_rows(reply: Fields) -> tuple[IndexRow, ...]:
    return tuple(map(_index_row, reply.parts("models")))


def _index_row(row: Fields) -> IndexRow:
    state = row.text("state", "").rpartition(".")[2]  # MLServer writes State.READY over gRPC
    return IndexRow(row.text("name"), row.version("version"), state, row.text("reason", ""))


_BATCH_DURATIONS = ("compute_input", "compute_infer", "compute_output")
_REQUEST_DURATIONS = ("success", "fail", "queue", *_BATCH_DURATIONS)


def _statistics(reply: Fields) -> tuple[ModelStatistics, ...]:
    return tuple(map(_model_statistics, reply.parts("model_stats")))


def _model_statistics(row: Fields) -> ModelStatistics:
    return ModelStatistics(
        name=row.text("name"),
        version=row.version("version"),
        last_inference_ms=row.number("last_inference", 0),
        inference_count=row.number("inference_count", 0),
        execution_count=row.number("execution_count", 0),
        batches=tuple(map(_batch_statistics, row.parts("batch_stats"))),
        **_durations(row.part("inference_stats"), _REQUEST_DURATIONS),
    )


def _batch_statistics(row: Fields) -> BatchStatistics:
    return BatchStatistics(row.number("batch_size"), **_durations(row, _BATCH_DURATIONS))


def _durations(reply: Fields | None, names: tuple[str, ...]) -> dict[str, Duration]:
    """Return the times that a server reports, in ns, by their names."""
    parts = {name: reply.part(name) for name in names} if reply else {}
    return {
        name: Duration(part.number("count"), part.number("ns"))
        for name, part in parts.items()
        if part
    }


def _regions(system: Fields, cuda: Fields) -> tuple[RegisteredRegion, ...]:
    regions: list[RegisteredRegion] = []
    for row in system.parts("regions"):
        key, offset = row.text("key"), row.number("offset", 0)
        regions.append(RegisteredRegion(*_name_and_size(row), key, offset))
    for row in cuda.parts("regions"):
        device = row.number("device_id", 0)
        regions.append(RegisteredRegion(*_name_and_size(row), device_id=device, kind="cuda"))
    return tuple(regions)


def _name_and_size(row: Fields) -> tuple[str, int]:
    return unquote(row.text("name")), row.number("byte_size")

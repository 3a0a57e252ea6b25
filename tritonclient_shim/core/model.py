"""The records that fronts, session and backends exchange.

A legacy call of either front becomes a :class:`V1Request`, then an :class:`InferCall`: a call in
terms of KServe v2, where every shape includes the batch dimension. The reply is an
:class:`InferReply`, then a :class:`V1Reply`. All records are immutable, and know no network and no
legacy argument. Records of each request are named tuples, which are several times cheaper to make
than frozen dataclasses. The other records, those of plans too, are dataclasses: their fields are
cheaper to read.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Any, Mapping, NamedTuple, Tuple

#: Anything that offers its bytes as one C-contiguous buffer: bytes, memoryview, ndarray.
Buffer = Any

#: Names of the protocols, as used in endpoints, settings and messages.
HTTP = "http"
GRPC = "grpc"


class ProtocolRules(NamedTuple):
    """How programs of v1 name a protocol, and what they observe over it."""

    title: str
    port: int  # Triton's default
    v1_number: int | None = None  # docs/v1-behaviour.md §1.5
    has_streams: bool = False
    sends_headers: bool = False  # docs/v1-behaviour.md §6.6
    #: Names are parts of paths (docs/v1-behaviour.md §9.1).
    names_in_paths: bool = False
    #: Every negative version is the latest (docs/v1-behaviour.md §3.1).
    negative_is_latest: bool = False
    #: Health is False if a server answers with an error (docs/v1-behaviour.md §6.1).
    error_is_unhealthy: bool = False
    #: ``verbose`` prints health, and regions to stderr (docs/v1-behaviour.md §10.2).
    prints_health: bool = False
    regions_to_stderr: bool = False
    #: ``get_stat`` counts asynchronous requests on completion, and no failures
    #: (docs/v1-behaviour.md §4.6).
    counts_on_completion: bool = False
    #: Closing a context waits for the next asynchronous request (docs/v1-behaviour.md §5).
    close_waits: bool = False


#: What differs by protocol, except in ``backends/``.
PROTOCOLS = {
    HTTP: ProtocolRules(
        "HTTP",
        port=8000,
        v1_number=0,
        sends_headers=True,
        names_in_paths=True,
        negative_is_latest=True,
        error_is_unhealthy=True,
        counts_on_completion=True,
    ),
    GRPC: ProtocolRules(
        "gRPC",
        port=8001,
        v1_number=1,
        has_streams=True,
        prints_health=True,
        regions_to_stderr=True,
        close_waits=True,
    ),
}

#: Sequence flags of a v1 request (docs/v1-behaviour.md §3.9).
FLAG_SEQUENCE_START = 1
FLAG_SEQUENCE_END = 2


@dataclass(frozen=True)
class Endpoint:
    """Where a server is and how to reach it; the key under which connections are shared."""

    protocol: str  # a key of PROTOCOLS
    address: str  # "host:port", for HTTP possibly followed by a path prefix
    secure: bool = False

    @property
    def rules(self) -> ProtocolRules:
        """Return what programs observe over the endpoint's protocol."""
        return PROTOCOLS[self.protocol]


class ShmSlice(NamedTuple):
    """The part of a registered shared-memory region that holds one tensor."""

    region: str
    byte_size: int
    offset: int = 0


class V1Input(NamedTuple):
    """One input in v1 terms: the dims of one batch entry, the bytes of the whole batch.

    ``dims`` is None when the request gave none (raw stub, bare shared-memory handle); the
    model configuration then decides. ``chunks`` follow each other in batch order.
    """

    name: str
    dims: tuple[int, ...] | None
    chunks: tuple[Buffer, ...] = ()
    byte_size: int = 0
    shm: ShmSlice | None = None
    datatype: str = ""  # of the arrays given, where the model declares none; KServe v2 name


class OutputForm(NamedTuple):
    """The form of an output: its tensor, or the best classes of each batch entry."""

    is_classes: bool = False
    class_count: int = 0  # may be 0 for classes too (docs/v1-behaviour.md §3.8)


#: v1's RAW.
TENSOR = OutputForm()


def best_classes(count: int) -> OutputForm:
    """Return the form of v1's ``(CLASS, count)``."""
    return OutputForm(is_classes=True, class_count=count)


class V1Output(NamedTuple):
    """One requested output."""

    name: str
    form: OutputForm = TENSOR
    shm: ShmSlice | None = None


class V1Request(NamedTuple):
    """An inference request in v1 terms: api.proto's ``InferRequestHeader`` and its data."""

    model_version: int  # -1: the latest
    batch_size: int
    inputs: tuple[V1Input, ...]
    outputs: tuple[V1Output, ...]
    correlation_id: int = 0
    flags: int = 0
    priority: int = 0
    timeout_us: int = 0
    id: int = 0


#: The next request id: from 1, strictly increasing over all contexts and both protocols, as v1's
#: server counted (docs/v1-behaviour.md §4.5, §E.11). ``itertools.count`` needs no lock.
next_request_id = itertools.count(1).__next__

#: One class of a classification result: index, score as float32, label ('' without one;
#: docs/v1-behaviour.md §4.2).
V1Class = Tuple[int, float, str]


class V1Result(NamedTuple):
    """One output in v1 terms: ``dims`` of one batch entry, ``data`` of the whole batch.

    ``data`` is None when the tensor lies in shared memory or was asked for as classes;
    ``classes`` holds one list per batch entry and is None for a raw output.
    """

    name: str
    datatype: str
    dims: tuple[int, ...]
    byte_size: int
    data: Buffer | None = None
    shm: ShmSlice | None = None
    classes: list[list[V1Class]] | None = None


class V1Reply(NamedTuple):
    """The answer to a :class:`V1Request`; ``outputs`` in the order they were asked for."""

    model_name: str
    model_version: int
    batch_size: int
    outputs: tuple[V1Result, ...]
    id: int = 0


class TensorIn(NamedTuple):
    """One input tensor of a v2 call: the bytes are ``chunks`` joined, or lie in ``shm``."""

    name: str
    datatype: str  # KServe v2 name, e.g. "FP32", "BYTES"
    shape: tuple[int, ...]
    chunks: tuple[Buffer, ...] = ()
    byte_size: int = 0
    shm: ShmSlice | None = None


class OutputSpec(NamedTuple):
    """One output asked of a v2 server."""

    name: str
    form: OutputForm = TENSOR
    shm: ShmSlice | None = None


class InferCall(NamedTuple):
    """One inference in KServe v2 terms. ``model_version`` '' is the latest, ids 0 are none.

    ``sequence_id``, ``priority`` and ``timeout_us`` are unsigned 64-bit; a backend whose
    wire has only int64 sends their two's complement (docs/v2-mapping.md §4, §5).
    """

    model_name: str
    model_version: str
    inputs: tuple[TensorIn, ...]
    outputs: tuple[OutputSpec, ...]
    request_id: str = ""
    sequence_id: int = 0
    sequence_start: bool = False
    sequence_end: bool = False
    priority: int = 0
    timeout_us: int = 0
    binary: bool = True  # False: over HTTP, tensors are JSON


class TensorOut(NamedTuple):
    """One output tensor of a v2 reply; ``data`` is None when it lies in shared memory.

    ``data`` are bytes, or a memoryview of bytes on the received message: copy before handing it to
    a user.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: Buffer | None = None


class InferReply(NamedTuple):
    """The outcome of an :class:`InferCall`; outputs in the order the server sent them."""

    model_name: str
    model_version: str
    outputs: tuple[TensorOut, ...]
    request_id: str = ""


@dataclass(frozen=True)
class ServerMetadata:
    """Name (v1's server id), version, and the extensions that a server lists."""

    name: str
    version: str
    extensions: tuple[str, ...] = ()

    @property
    def release(self) -> tuple[int, ...]:
        """Return the first numbers of the version, at most two; () for a version that has none."""
        match = re.match(r"(\d+)\.(\d+)|(\d+)$", self.version)
        return () if match is None else tuple(int(number) for number in match.groups() if number)

    @property
    def title(self) -> str:
        """Return name and version, for messages."""
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True)
class TensorMetadata:
    """One tensor of a model; a batch dimension is part of the shape."""

    name: str
    datatype: str  # KServe v2 name
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ModelMetadata:
    """The metadata of a model. Many models of MLServer declare no tensors."""

    name: str
    platform: str = ""
    inputs: tuple[TensorMetadata, ...] = ()
    outputs: tuple[TensorMetadata, ...] = ()


@dataclass(frozen=True)
class ModelConfigDocument:
    """A model configuration as a protocol delivers it: protobuf bytes, or decoded JSON."""

    content: bytes | Mapping[str, Any]
    backend: str = ""
    decoupled: bool = False


@dataclass(frozen=True)
class IndexRow:
    """One row of a v2 repository index; version and state are '' for an unloaded model."""

    name: str
    version: str = ""
    state: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Duration:
    """A count of events and the nanoseconds they took together."""

    count: int = 0
    ns: int = 0


@dataclass(frozen=True)
class BatchStatistics:
    """Compute times of the executions of one executed batch size."""

    batch_size: int
    compute_input: Duration = Duration()
    compute_infer: Duration = Duration()
    compute_output: Duration = Duration()


@dataclass(frozen=True)
class ModelStatistics:
    """The statistics of one model version, as the v2 statistics extension gives them."""

    name: str
    version: str
    last_inference_ms: int = 0  # epoch
    inference_count: int = 0
    execution_count: int = 0
    success: Duration = Duration()
    fail: Duration = Duration()
    queue: Duration = Duration()
    compute_input: Duration = Duration()
    compute_infer: Duration = Duration()
    compute_output: Duration = Duration()
    batches: tuple[BatchStatistics, ...] = ()


@dataclass(frozen=True)
class ServerSnapshot:
    """The data of a v2 server for which v1's ``ServerStatus`` has a field."""

    metadata: ServerMetadata
    live: bool
    uptime_ns: int
    index: tuple[IndexRow, ...] = ()
    configs: Mapping[str, ModelConfigDocument] = field(default_factory=dict)
    statistics: tuple[ModelStatistics, ...] = ()


@dataclass(frozen=True)
class RegisteredRegion:
    """One shared-memory region a server knows; ``key`` is '' for a CUDA region."""

    name: str
    byte_size: int
    key: str = ""
    offset: int = 0
    device_id: int = 0
    kind: str = "system"  # or "cuda"

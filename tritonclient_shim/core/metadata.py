"""What every server of the Open Inference Protocol tells about itself and its models.

KServe v2 is this protocol with Triton's extensions. A server without ``model_configuration``
describes its models by their metadata alone, and what it can do beyond the core of the protocol
follows from the extensions that it lists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from time import monotonic

MODEL_CONFIGURATION = "model_configuration"
BINARY = "binary_tensor_data"
SEQUENCE = "sequence"
SCHEDULE = "schedule_policy"
SYSTEM_REGIONS = "system_shared_memory"
CUDA_REGIONS = "cuda_shared_memory"

#: Extensions that a server has without listing them, by its name (docs/v2-mapping.md §14).
_UNLISTED = {"kserve": frozenset({BINARY})}
#: Servers that take a request for any version of a model for one of the only version they have.
_WITHOUT_VERSIONS = frozenset({"kserve"})


@dataclass(frozen=True)
class ServerMetadata:
    """Name (v1's server id), version, and the extensions that a server lists."""

    name: str
    version: str
    extensions: tuple[str, ...] = ()

    @property
    def release(self) -> tuple[int, ...]:
        """The first numbers of the version, at most two; () for a version that has none."""
        found = re.match(r"(\d+)\.(\d+)|(\d+)$", self.version)
        return () if found is None else tuple(int(one) for one in found.groups() if one)


@dataclass(frozen=True)
class TensorMetadata:
    """One tensor of a model; a batch dimension is part of the shape."""

    name: str
    datatype: str  # KServe v2 name
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ModelMetadata:
    """What a server tells of a model; many a model of MLServer's declares no tensors at all."""

    name: str
    platform: str = ""
    inputs: tuple[TensorMetadata, ...] = ()
    outputs: tuple[TensorMetadata, ...] = ()


@dataclass(frozen=True)
class Capabilities:
    """What a server that has no model configurations can do; Triton never needs one of these."""

    server: str  # its name and version, for messages
    extensions: frozenset[str] = field(default_factory=frozenset)
    versions: bool = True  # does it obey the version of a request?

    @property
    def sequences(self) -> bool:
        """Does it keep the requests of a sequence together?"""
        return SEQUENCE in self.extensions

    @property
    def regions(self) -> bool:
        """Has it shared memory of any kind?"""
        return bool({SYSTEM_REGIONS, CUDA_REGIONS} & self.extensions)


def capabilities_of(metadata: ServerMetadata) -> Capabilities:
    """What follows from a server's metadata; nothing of it is asked of the server again."""
    listed = frozenset(one.partition("(")[0] for one in metadata.extensions)
    return Capabilities(
        f"{metadata.name} {metadata.version}".strip(),
        listed | _UNLISTED.get(metadata.name, frozenset()),
        metadata.name not in _WITHOUT_VERSIONS,
    )


class KnownServer:
    """What has been learnt of the server behind one connection; a new connection has a new one.

    All contexts of the process that share the connection share it, too, from any thread.
    """

    def __init__(self) -> None:
        self._learnt: tuple[Capabilities, float] | None = None
        #: Does it end when a stream asks for a model that it does not have? None: not asked yet.
        self.fragile_streams: bool | None = None

    @property
    def is_known(self) -> bool:
        """Has anything been learnt that does not hold for another server?"""
        return self._learnt is not None or self.fragile_streams is not None

    def learn(self, capabilities: Capabilities | None) -> None:
        """Keep what the server has just told; None for one that has model configurations."""
        self._learnt = None if capabilities is None else (capabilities, monotonic())

    def capabilities(self, seconds: float) -> Capabilities | None:
        """What was learnt within so many seconds; None where the server has to be asked."""
        learnt = self._learnt
        if learnt is None or monotonic() - learnt[1] >= seconds:
            return None
        return learnt[0]

"""The metadata of a server of the Open Inference Protocol, and of its models.

KServe v2 is this protocol with Triton's extensions. A server without ``model_configuration``
describes its models by their metadata alone. Its list of extensions says what it can do beyond the
core of the protocol.
"""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple, Sequence

from tritonclient_shim.concurrency.questions import Questions
from tritonclient_shim.core.model import Capabilities, ServerMetadata

MODEL_CONFIGURATION = "model_configuration"
BINARY = "binary_tensor_data"
SEQUENCE = "sequence"
REGIONS = frozenset({"system_shared_memory", "cuda_shared_memory"})

#: Extensions that a server has without listing them, by its name (docs/v2-mapping.md §14).
_UNLISTED = {"kserve": frozenset({BINARY})}
#: Servers that ignore the version of a request: each of their models has one version.
_WITHOUT_VERSIONS = frozenset({"kserve"})


def capabilities_of(metadata: ServerMetadata) -> Capabilities:
    """Return what a server without model configurations can do. Send nothing."""
    listed = frozenset(extension.partition("(")[0] for extension in metadata.extensions)
    extensions = listed | _UNLISTED.get(metadata.name, frozenset())
    return Capabilities(
        f"{metadata.name} {metadata.version}".strip(),
        sequences=SEQUENCE in extensions,
        regions=bool(REGIONS & extensions),
        versions=metadata.name not in _WITHOUT_VERSIONS,
        binary=BINARY in extensions,
    )


class KnownLabels(NamedTuple):
    """The labels of an output by class index, and when they were fetched.

    ``profile`` is the model's configuration, and ``loads`` the number of loads by this process, at
    that time.
    """

    texts: Sequence[str]
    profile: object
    fetched_at: float
    loads: int


class KnownServer:
    """The known facts of the server behind one connection. A new connection has a new object.

    All contexts that share the connection share this object, in any thread.
    """

    def __init__(self) -> None:
        self._learnt: tuple[Capabilities, float] | None = None
        self.questions = Questions()
        #: Labels by class index, by model, version and output.
        self.labels: dict[tuple[str, str, str], KnownLabels] = {}
        self.id = ""  # the server's --id, "" until it has been asked
        #: True if the server ends when a stream names an unknown model; None: not known yet.
        self.fragile_streams: bool | None = None

    def learn(self, capabilities: Capabilities | None) -> None:
        """Keep the capabilities of the server; None for a server that has model configurations."""
        self._learnt = None if capabilities is None else (capabilities, monotonic())

    def capabilities(self, seconds: float) -> Capabilities | None:
        """Return the capabilities, if they were learnt at most this many seconds ago; else None."""
        learnt = self._learnt
        if learnt is None or monotonic() - learnt[1] >= seconds:
            return None
        return learnt[0]

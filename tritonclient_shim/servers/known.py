"""What a process remembers of the server behind one connection."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple, Sequence

from tritonclient_shim.concurrency.questions import Questions
from tritonclient_shim.core.model import ServerMetadata
from tritonclient_shim.servers.base import Dialect


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
        self._learnt: tuple[Dialect, float] | None = None
        self.questions = Questions()
        #: Labels by class index, by model, version and output.
        self.labels: dict[tuple[str, str, str], KnownLabels] = {}
        #: Bytes of registered regions of shared memory, by name. Other processes register too.
        self.region_sizes: dict[str, int] = {}
        self.metadata: ServerMetadata | None = None  # None until it has been asked

    def learn(self, dialect: Dialect) -> None:
        """Keep the dialect of the server."""
        self._learnt = (dialect, monotonic())

    def dialect(self, seconds: float) -> Dialect | None:
        """Return a dialect whose descriptions hold for a time; None if none was learnt in it."""
        learnt = self._learnt
        if learnt is None or learnt[0].description_holds or monotonic() - learnt[1] >= seconds:
            return None
        return learnt[0]

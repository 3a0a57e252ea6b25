"""A server that may die of what a test does to it, and is replaced then."""

from __future__ import annotations

from typing import Callable, Sequence

from testbed import TritonServer
from tests.lost_server import is_alive

_ATTEMPTS = 3


class ReplacedServer:
    """Runs work on a Triton, which a unary gRPC call that is cut can end with signal 11.

    It does so without this package, too (docs/v2-mapping.md §10).
    """

    def __init__(self, models: Sequence[str]) -> None:
        self._models = models
        self._server = TritonServer.start(models=models)

    def __enter__(self) -> ReplacedServer:
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.kill()

    def try_on(self, work: Callable[[TritonServer], None]) -> None:
        """Do the work; once more on another server when it fails and the server is dead."""
        for attempt in range(_ATTEMPTS):
            try:
                work(self._server)
                return
            except Exception:
                if attempt == _ATTEMPTS - 1 or is_alive(self._server):
                    raise
                self._server.kill()
                self._server = TritonServer.start(models=self._models)

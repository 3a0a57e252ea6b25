"""A server that is replaced after a test kills it."""

from __future__ import annotations

from typing import Callable, Sequence

from testbed import TritonServer
from tests.lost_server import is_alive

_ATTEMPTS = 3


class ReplacedServer:
    """A Triton for work that may end it: a unary gRPC call that is cut can cause signal 11.

    It does so without this package too.

    (docs/v2-mapping.md §10)
    """

    def __init__(self, models: Sequence[str]) -> None:
        self._models = models
        self._server = TritonServer.start(models=models)

    def __enter__(self) -> ReplacedServer:
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.kill()

    def try_on(self, work: Callable[[TritonServer], None]) -> None:
        """Do the work. If it fails and the server is dead, repeat it once on another server."""
        for attempt in range(_ATTEMPTS):
            try:
                work(self._server)
                return
            except Exception:
                if attempt == _ATTEMPTS - 1 or is_alive(self._server):
                    raise
                self._server.kill()
                self._server = TritonServer.start(models=self._models)

"""The figures of all workers of a gateway, which the supervisor serves."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from typing import Callable

from tritonclient_shim.gateway.options.table import ListenAddress
from tritonclient_shim.settings import environment_with


class Figures:
    """Where the workers write their figures. Without an address there are none.

    ``environment`` is that of the workers' processes, None for the supervisor's own. ``held``
    removes the folder at the end.
    """

    def __init__(self, address: ListenAddress | None, held: AsyncExitStack) -> None:
        self._address = address
        self._held = held
        self.environment: dict[str, str] | None = None
        if address is not None:
            self._folder = held.enter_context(tempfile.TemporaryDirectory(prefix="gateway-"))
            self.environment = environment_with(PROMETHEUS_MULTIPROC_DIR=self._folder)

    async def serve(self, is_ready: Callable[[], bool]) -> ListenAddress | None:
        """Serve the sums of the figures → the address. OSError when it is in use."""
        if self._address is None:
            return None
        from tritonclient_shim.gateway.operation.metrics import sum_of
        from tritonclient_shim.gateway.operation.status_server import StatusServer

        server = StatusServer(sum_of(self._folder), is_ready)
        self._held.push_async_callback(server.close)
        return await server.open(self._address)

    def forget(self, process: int) -> None:
        """A worker has ended: what was in progress in it is no more."""
        if self._address is not None:
            from prometheus_client.multiprocess import mark_process_dead

            mark_process_dead(process, self._folder)

"""Back-pressure for HTTP: what is in flight is bounded, and the rest waits, unread."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import AsyncIterator


class Gate:
    """Lets requests in while there is room; to be made and used in one event loop."""

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._requests = 0
        self._bytes = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def room(self, size: int) -> AsyncIterator[None]:
        """Room for a request with a body of ``size`` bytes, waiting for it if need be."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._fits(size))
            self._requests += 1
            self._bytes += size
        try:
            yield
        finally:
            self._requests -= 1
            self._bytes -= size
            async with self._changed:
                self._changed.notify_all()

    def _fits(self, size: int) -> bool:
        if not self._requests:  # alone, a request of any size
            return True
        return self._requests < self._max_requests and self._bytes + size <= self._max_bytes

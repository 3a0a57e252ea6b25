"""The access log: one line per request, for those who asked for it."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import Any, Iterator

from tritonclient_shim.protos import request_status_pb2

log = logging.getLogger("tritonclient_shim.gateway.access")


class Entry:
    """One request; ``status`` is v1's RequestStatus, None where none was sent."""

    def __init__(self) -> None:
        self.status: Any = None


class Access:
    """Writes the log, or nothing."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled

    @contextmanager
    def entry(self, protocol: str, what: str) -> Iterator[Entry]:
        """Log the request that the block answers, and how long it took."""
        entry, start = Entry(), time.perf_counter()
        yield entry
        self.note(protocol, what, entry.status, time.perf_counter() - start)

    def note(self, protocol: str, what: str, status: Any, seconds: float | None = None) -> None:
        """Log one request, with its v1 status and the seconds it took."""
        if not self._enabled:
            return
        code, number = "-", "-"
        if status is not None:
            code = request_status_pb2.RequestStatusCode.Name(status.code)
            number = str(status.request_id)
        took = "" if seconds is None else f" {1000 * seconds:.1f} ms"
        log.info("%s %s %s %s%s", protocol, what, code, number, took)

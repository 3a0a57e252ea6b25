"""The access log: a line for each request, if the gateway was started with ``--access-log``."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import Any, Iterator

from tritonclient_shim.protos import request_status_pb2

log = logging.getLogger("tritonclient_shim.gateway.access")


class AccessRecord:
    """What the log tells of one request.

    ``status`` is the RequestStatus of v1 that its client was sent, None if it was sent none.
    """

    def __init__(self) -> None:
        self.status: Any = None


class AccessLog:
    """Writes the log; writes nothing unless it is enabled."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled

    @contextmanager
    def request(self, protocol: str, what: str) -> Iterator[AccessRecord]:
        """Log the request that is answered inside the ``with`` block, and how long that took."""
        record, start = AccessRecord(), time.perf_counter()
        yield record
        self.write(protocol, what, record.status, time.perf_counter() - start)

    def write(self, protocol: str, what: str, status: Any, seconds: float | None = None) -> None:
        """Log one request, with its v1 status and the seconds it took, if they are known."""
        if not self._enabled:
            return
        code, number = "-", "-"
        if status is not None:
            code = request_status_pb2.RequestStatusCode.Name(status.code)
            number = str(status.request_id)
        took = "" if seconds is None else f" {1000 * seconds:.1f} ms"
        log.info("%s %s %s %s%s", protocol, what, code, number, took)

"""The record of each request: a line of the access log, and metrics."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, field
from typing import Any

from tritonclient_shim.protos import request_status_pb2

log = logging.getLogger("tritonclient_shim.gateway.access")
gateway_log = logging.getLogger("tritonclient_shim.gateway")

#: Seconds between two lines about refusals of one kind.
_REPORT_EVERY = 60
_REFUSED = (
    "the gateway has refused a %s request (%s). Further ones are counted in refused_total, and "
    "logged again after %d seconds"
)

_code_name = request_status_pb2.RequestStatusCode.Name


@dataclass
class AccessRecord:
    """One request, as the log reports it; the request is answered inside a ``with`` block.

    ``call`` is the name of v1's rpc, over HTTP too; ``request`` names the call as its
    protocol does. ``status`` is v1's RequestStatus for the client, None if the client gets none.
    ``received`` and ``sent`` are the bytes of bodies or messages.
    """

    access_log: AccessLog
    protocol: str
    call: str
    request: str
    model: str = ""
    peer: str = ""
    received: int = 0
    sent: int = 0
    status: Any = None
    start: float = field(default_factory=time.perf_counter)

    def __enter__(self) -> AccessRecord:
        self.access_log.meter.begin(self.protocol)
        return self

    def __exit__(self, *raised: object) -> None:
        self.access_log.end(self)

    @property
    def code(self) -> str:
        """Return the name of v1's code; '-' without a status."""
        return "-" if self.status is None else str(_code_name(self.status.code))


class Meter:
    """Counts nothing; ``metrics.py`` has the meter that counts."""

    def begin(self, protocol: str) -> None:
        """Count a request in progress."""

    def end(self, record: AccessRecord, seconds: float) -> None:
        """Count an answered request."""

    def upstream(self, protocol: str, seconds: float) -> None:
        """Count the time that the v2 server took for an inference."""

    def refused(self, protocol: str, reason: str) -> None:
        """Count a request that the gateway itself has refused."""

    def dropped(self) -> None:
        """Count a line of the log that was not written."""

    def streams(self, change: int) -> None:
        """Count a stream that opens (1) or ends (-1)."""


class AccessLog:
    """Writes the log if it is ``enabled``, and hands each record to the meter."""

    def __init__(self, enabled: bool, meter: Meter) -> None:
        self.enabled = enabled
        self.meter = meter
        #: Protocol and reason → the time of the last line about such refusals.
        self._reported: dict[tuple[str, str], float] = {}

    def rpc(self, call: str, model: str, received: int, context: Any) -> AccessRecord:
        """Return the record of a request over gRPC."""
        peer = str(context.peer()) if self.enabled else ""
        return AccessRecord(self, "grpc", call, f"{call} {model}".rstrip(), model, peer, received)

    def refused(self, protocol: str, reason: str) -> None:
        """Count a request that the gateway itself refuses, and log some of them."""
        self.meter.refused(protocol, reason)
        now = time.monotonic()
        kind = (protocol, reason)
        if now - self._reported.get(kind, -_REPORT_EVERY) >= _REPORT_EVERY:
            self._reported[kind] = now
            gateway_log.warning(_REFUSED, protocol, reason, _REPORT_EVERY)

    def end(self, record: AccessRecord) -> None:
        """Report a request that has been answered."""
        seconds = time.perf_counter() - record.start
        self.meter.end(record, seconds)
        if self.enabled:
            log.info("%s", _as_json(record, seconds))


def _as_json(record: AccessRecord, seconds: float) -> str:
    line = {
        "time": time.time(),
        "protocol": record.protocol,
        "call": record.call,
        "request": record.request,
        "model": record.model,
        "peer": record.peer,
        "code": record.code,
        "request_id": 0 if record.status is None else int(record.status.request_id),
        "seconds": round(seconds, 6),
        "received": record.received,
        "sent": record.sent,
    }
    return json.dumps(line)

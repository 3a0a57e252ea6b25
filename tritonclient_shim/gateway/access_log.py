"""The record of each request: a line of the access log, and metrics."""

from __future__ import annotations

import json
import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Iterator

from tritonclient_shim.protos import request_status_pb2

log = logging.getLogger("tritonclient_shim.gateway.access")

_code_name = request_status_pb2.RequestStatusCode.Name


@dataclass
class AccessRecord:
    """One request, as the log reports it.

    ``call`` is the name of v1's rpc, over HTTP too; ``what`` is the call in its protocol's words.
    ``status`` is v1's RequestStatus for the client, None if the client gets none.
    ``received`` and ``sent`` are the bytes of bodies or messages.
    """

    protocol: str
    call: str
    what: str
    model: str = ""
    peer: str = ""
    status: Any = None
    received: int = 0
    sent: int = 0
    seconds: float = 0.0
    start: float = field(default_factory=time.perf_counter)

    @property
    def request_id(self) -> int:
        """Return v1's number of the request; 0 without a status."""
        return 0 if self.status is None else int(self.status.request_id)

    @property
    def code(self) -> str:
        """Return the name of v1's code; '-' without a status."""
        return "-" if self.status is None else str(_code_name(self.status.code))


class Meter:
    """Counts nothing; ``metrics.py`` has the meter that counts."""

    def begin(self, protocol: str) -> None:
        """Count a request in progress."""

    def end(self, record: AccessRecord) -> None:
        """Count an answered request."""

    def upstream(self, protocol: str, seconds: float) -> None:
        """Count the time that the v2 server took for an inference."""

    def streams(self, change: int) -> None:
        """Count a stream that opens (1) or ends (-1)."""


class AccessLog:
    """Writes the log in a format of ``--access-log``, and hands each record to the meter."""

    def __init__(self, form: str, meter: Meter) -> None:
        self._form = form
        self.meter = meter
        #: True if records need the addresses of clients.
        self.wants_peers = form != "off"

    @contextmanager
    def request(self, record: AccessRecord) -> Iterator[AccessRecord]:
        """Report the request that is answered inside the ``with`` block."""
        self.meter.begin(record.protocol)
        try:
            yield record
        finally:
            record.seconds = time.perf_counter() - record.start
            self.meter.end(record)
            if self._form == "text":
                log.info("%s", _as_text(record))
            elif self._form == "json":
                log.info("%s", _as_json(record))


def _as_text(record: AccessRecord) -> str:
    number = record.request_id or "-"
    return (
        f"{record.protocol} {record.what} {record.code} {number} {1000 * record.seconds:.1f} ms "
        f"{record.received} bytes in {record.sent} bytes out from {record.peer or '-'}"
    )


def _as_json(record: AccessRecord) -> str:
    line = {
        "time": time.time(),
        "protocol": record.protocol,
        "call": record.call,
        "request": record.what,
        "model": record.model,
        "peer": record.peer,
        "code": record.code,
        "request_id": record.request_id,
        "seconds": round(record.seconds, 6),
        "received": record.received,
        "sent": record.sent,
    }
    return json.dumps(line)


def log_to_stderr(access_log: str) -> None:
    """Log to stderr: all lines of the gateway, and warnings of other libraries.

    Lines of an access log in JSON have no prefix.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("tritonclient_shim.gateway").setLevel(logging.INFO)
    if access_log == "json":
        log.addHandler(logging.StreamHandler())
        log.propagate = False

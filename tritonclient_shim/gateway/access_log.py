"""What is told of each request when it has been answered: a line of the access log, and figures."""

from __future__ import annotations

import json
import logging
import time
from contextlib import contextmanager
from typing import Any, Iterator, Protocol

from tritonclient_shim.protos import request_status_pb2

log = logging.getLogger("tritonclient_shim.gateway.access")

_CODE_NAMES = request_status_pb2.RequestStatusCode.Name


class AccessRecord:
    """One request, as the log tells of it.

    ``call`` is the name of v1's rpc, over HTTP too; ``what`` is the call in the words of its
    protocol. ``status`` is the RequestStatus of v1 that its client was sent, None if it was sent
    none. ``received`` and ``sent`` are the bytes of the bodies, or of the messages.
    """

    __slots__ = (
        *("protocol", "call", "what", "model", "peer", "status"),
        *("received", "sent", "start", "seconds"),
    )

    def __init__(self, protocol: str, call: str, what: str, model: str = "") -> None:
        self.protocol = protocol
        self.call = call
        self.what = what
        self.model = model
        self.peer = ""
        self.status: Any = None
        self.received = self.sent = 0
        self.start = time.perf_counter()
        self.seconds = 0.0

    @property
    def code(self) -> str:
        """The name of v1's code; '-' without a status."""
        return "-" if self.status is None else str(_CODE_NAMES(self.status.code))


class Meter(Protocol):
    """Counts requests; see ``operation/metrics.py``."""

    def begun(self, protocol: str) -> None:
        """A request is in progress."""

    def ended(self, record: AccessRecord) -> None:
        """It is no more."""

    def upstream(self, protocol: str, seconds: float) -> None:
        """The v2 server has taken so long for an inference."""

    def streams(self, change: int) -> None:
        """A stream has been opened (1), or has ended (-1)."""


class NoMeter:
    """Counts nothing."""

    def begun(self, protocol: str) -> None:
        """Nothing."""

    def ended(self, record: AccessRecord) -> None:
        """Nothing."""

    def upstream(self, protocol: str, seconds: float) -> None:
        """Nothing."""

    def streams(self, change: int) -> None:
        """Nothing."""


class AccessLog:
    """Writes the log in a format of ``--access-log``, and hands each record to the meter."""

    def __init__(self, form: str, meter: Meter) -> None:
        self._form = form
        self.meter = meter
        #: Are the peers of clients wanted?
        self.wants_peers = form != "off"

    @contextmanager
    def request(self, record: AccessRecord) -> Iterator[AccessRecord]:
        """Tell of the request that is answered inside the ``with`` block."""
        self.meter.begun(record.protocol)
        try:
            yield record
        finally:
            self._end(record)

    def refused(self, record: AccessRecord) -> None:
        """Tell of a request that has been refused before it could be read."""
        self.meter.begun(record.protocol)
        self._end(record)

    def _end(self, record: AccessRecord) -> None:
        record.seconds = time.perf_counter() - record.start
        self.meter.ended(record)
        if self._form == "text":
            log.info("%s", _as_text(record))
        elif self._form == "json":
            log.info("%s", _as_json(record))


def _as_text(record: AccessRecord) -> str:
    number = "-" if record.status is None else record.status.request_id
    return (
        f"{record.protocol} {record.what} {record.code} {number} {1000 * record.seconds:.1f} ms "
        f"{record.received} bytes in {record.sent} bytes out from {record.peer or '-'}"
    )


def _as_json(record: AccessRecord) -> str:
    told = {
        "time": time.time(),
        "protocol": record.protocol,
        "call": record.call,
        "request": record.what,
        "model": record.model,
        "peer": record.peer,
        "code": record.code,
        "request_id": 0 if record.status is None else record.status.request_id,
        "seconds": round(record.seconds, 6),
        "received": record.received,
        "sent": record.sent,
    }
    return json.dumps(told)

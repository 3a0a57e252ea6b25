"""The gateway's figures for Prometheus, by prometheus_client.

Processes of one gateway write theirs into files of one folder, which the variable
PROMETHEUS_MULTIPROC_DIR names to prometheus_client; who serves the figures adds them up.
"""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from tritonclient_shim.gateway.access_log import AccessRecord

_NAME = "tritonclient_shim_gateway"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class PrometheusMeter:
    """Counts requests. Every process has one."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def made(kind: Any, name: str, text: str, *labels: str, **more: Any) -> Any:
            return kind(f"{_NAME}_{name}", text, labels, registry=registry, **more)

        by_call = ("protocol", "call")
        self._requests = made(
            Counter, "requests", "Requests that have been answered, by v1's code.", *by_call, "code"
        )
        self._seconds = made(
            Histogram,
            "request_seconds",
            "From a request's head, or its arrival over gRPC, to its answer.",
            *by_call,
            buckets=_SECONDS,
        )
        self._received = made(Counter, "received_bytes", "Bytes of requests.", "protocol")
        self._sent = made(Counter, "sent_bytes", "Bytes of answers.", "protocol")
        live = {"multiprocess_mode": "livesum"}
        self._in_flight = made(Gauge, "in_flight", "Requests in progress.", "protocol", **live)
        self._streams = made(Gauge, "streams", "StreamInfer calls that are open.", **live)
        self._upstream = made(
            Histogram,
            "upstream_seconds",
            "How long Triton has taken for an inference, apart from streams.",
            "protocol",
            buckets=_SECONDS,
        )

    def begun(self, protocol: str) -> None:
        """A request is in progress."""
        self._in_flight.labels(protocol).inc()

    def ended(self, record: AccessRecord) -> None:
        """It is no more."""
        protocol, call = record.protocol, record.call
        self._in_flight.labels(protocol).dec()
        self._requests.labels(protocol, call, record.code).inc()
        self._seconds.labels(protocol, call).observe(record.seconds)
        self._received.labels(protocol).inc(record.received)
        self._sent.labels(protocol).inc(record.sent)

    def upstream(self, protocol: str, seconds: float) -> None:
        """The v2 server has taken so long for an inference."""
        self._upstream.labels(protocol).observe(seconds)

    def streams(self, change: int) -> None:
        """A stream has been opened (1), or has ended (-1)."""
        self._streams.inc(change)


def sum_of(folder: str) -> CollectorRegistry:
    """The figures that the processes of a gateway write into a folder."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)
    return registry


def exposition(registry: CollectorRegistry) -> bytes:
    """The figures in Prometheus' text format."""
    return bytes(generate_latest(registry))

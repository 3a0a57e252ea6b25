"""The options of a gateway: one table, of which the command line, the environment and the
configuration file are made (``configuration.py``).
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any

from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.gateway.options import readers
from tritonclient_shim.gateway.options.readers import ListenAddress
from tritonclient_shim.gateway.options.releases import RELEASES
from tritonclient_shim.settings.values import Reader

__all__ = ["LARGEST_MESSAGE", "OPTIONS", "Bound", "GatewayOptions", "ListenAddress"]

#: v1's limit of a gRPC message, on both sides (docs/v1-behaviour.md §9.2).
LARGEST_MESSAGE = 2**31 - 1

_ADDRESS, _NUMBER, _SECONDS, _FILE = "HOST:PORT", "N", "SECONDS", "FILE"


@dataclass(frozen=True)
class Bound:
    """The addresses on which a gateway listens; ``metrics`` is None without that server."""

    http: ListenAddress
    grpc: ListenAddress
    metrics: ListenAddress | None = None


def _option(reader: Reader, shown: str, text: str, default: Any = None) -> Any:
    """A field; ``shown`` stands for its value in the help, ``text`` says what it is."""
    return field(default=default, metadata={"reader": reader, "shown": shown, "help": text})


@dataclass(frozen=True)
class GatewayOptions:
    """The options of one gateway; docs/gateway.md describes each.

    Limits and times hold in each of the ``workers`` for itself.
    """

    http: ListenAddress = _option(
        readers.address,
        _ADDRESS,
        "where to serve v1's HTTP; port 0 lets the system choose",
        ListenAddress("127.0.0.1", 8000),
    )
    grpc: ListenAddress = _option(
        readers.address,
        _ADDRESS,
        "where to serve v1's gRPC; port 0 lets the system choose",
        ListenAddress("127.0.0.1", 8001),
    )
    triton_grpc: Endpoint = _option(
        readers.grpc_url,
        _ADDRESS,
        "gRPC address of the Triton server, required; grpcs://HOST:PORT for TLS",
    )
    triton_http: Endpoint | None = _option(
        readers.http_url,
        _ADDRESS,
        "its HTTP address, for requests that come over HTTP (otherwise those, too, go to Triton "
        "over gRPC); https://HOST:PORT for TLS",
    )
    triton_root_certificates: str | None = _option(
        readers.file,
        _FILE,
        "certificates, in PEM, of those who may have signed Triton's (otherwise the system's)",
    )
    triton_certificate: str | None = _option(
        readers.file, _FILE, "the certificate, in PEM, that the gateway shows to Triton"
    )
    triton_key: str | None = _option(readers.file, _FILE, "its key, in PEM, not encrypted")
    triton_headers: tuple[tuple[str, str], ...] = _option(
        readers.headers_file,
        _FILE,
        "credentials: lines of NAME: VALUE that go with each request to Triton, as headers or as "
        "metadata",
        (),
    )
    forward_header: tuple[str, ...] = _option(
        readers.header_names,
        "NAMES",
        "headers and metadata of a client's calls that go on to Triton, with commas between",
        ("authorization", "traceparent", "tracestate"),
    )
    tls_certificate: str | None = _option(
        readers.file, _FILE, "serve TLS, over HTTP and gRPC, with this certificate, in PEM"
    )
    tls_key: str | None = _option(readers.file, _FILE, "its key, in PEM, not encrypted")
    tls_client_roots: str | None = _option(
        readers.file,
        _FILE,
        "take only clients with a certificate that one of these, in PEM, has signed",
    )
    server_id: str = _option(
        readers.text,
        "ID",
        "the server id that clients are told, such as v1's default inference:0 (otherwise "
        "Triton's own --id)",
        "",
    )
    emulate: str = _option(
        readers.release,
        "RELEASE",
        f"a release of v1's server, {', '.join(RELEASES)}, whose texts and fields "
        "clients get (otherwise those that clients of all releases can read)",
        "",
    )
    workers: int = _option(
        readers.positive,
        _NUMBER,
        "processes that share the addresses; each has the limits for itself",
        1,
    )
    max_body_bytes: int = _option(
        readers.positive,
        _NUMBER,
        "largest request; also the sum of the HTTP bodies held at one time",
        LARGEST_MESSAGE,
    )
    max_in_flight: int = _option(
        readers.positive,
        _NUMBER,
        "requests per protocol that are answered at one time; more wait",
        512,
    )
    max_connections: int = _option(
        readers.positive,
        _NUMBER,
        "connections at one time, over HTTP and over gRPC each. Beyond, the HTTP connection idle "
        "longest is closed, and a new one of gRPC",
        8192,
    )
    max_streams: int = _option(
        readers.positive,
        _NUMBER,
        "StreamInfer calls that are open at one time; more are refused",
        512,
    )
    max_calls_per_connection: int = _option(
        readers.positive,
        _NUMBER,
        "gRPC calls at one time on one connection; its client keeps more to itself meanwhile",
        1024,
    )
    max_connection_age: float | None = _option(
        readers.seconds,
        _SECONDS,
        "how long a connection is used, over HTTP or gRPC; then its client is told to make "
        "another one (otherwise as long as the client likes)",
    )
    client_timeout: float = _option(
        readers.seconds,
        _SECONDS,
        "how long a client may keep the gateway waiting, for a part of its request or for taking "
        "a part of its answer",
        30.0,
    )
    upstream_timeout: float = _option(
        readers.seconds,
        _SECONDS,
        "how long Triton may take to answer an inference or to tell its status; then the answer "
        "is UNAVAILABLE",
        60.0,
    )
    load_timeout: float = _option(
        readers.seconds, _SECONDS, "the same for loading and unloading a model", 600.0
    )
    health_timeout: float = _option(readers.seconds, _SECONDS, "the same for health", 2.0)
    keep_alive: float = _option(
        readers.seconds,
        _SECONDS,
        "how long an idle connection is kept; v1's clients keep theirs as long as they live",
        3600.0,
    )
    ping_interval: float = _option(
        readers.seconds,
        _SECONDS,
        "how long a gRPC connection may be silent before its client is asked whether it is still "
        "there, within --client-timeout",
        300.0,
    )
    min_ping_interval: float = _option(
        readers.seconds_or_none,
        _SECONDS,
        "a gRPC client that asks the same more often is disconnected",
        300.0,
    )
    drain: float = _option(
        readers.seconds_or_none,
        _SECONDS,
        "how long a stop only tells that the gateway is not ready, and still accepts connections, "
        "so that load balancers look elsewhere",
        1.0,
    )
    grace: float = _option(
        readers.seconds_or_none,
        _SECONDS,
        "how long a stop waits for requests that are being answered",
        10.0,
    )
    access_log: str = _option(
        readers.log_format,
        "text|json",
        "a line on stderr for each request, as text (also without a value) or JSON",
        "off",
    )
    metrics_address: ListenAddress | None = _option(
        readers.address,
        _ADDRESS,
        "where to serve /metrics for Prometheus, and the gateway's own /livez and /readyz",
    )


#: Name → dataclass field, in the order of the table.
OPTIONS: dict[str, Field[Any]] = {one.name: one for one in fields(GatewayOptions)}

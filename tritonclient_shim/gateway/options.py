"""The settings that a gateway is started with."""

from __future__ import annotations

from dataclasses import dataclass

from tritonclient_shim.core.addresses import join_port
from tritonclient_shim.core.model import Endpoint

#: v1's limit of a gRPC message, on both sides (docs/v1-behaviour.md §9.2).
LARGEST_MESSAGE = 2**31 - 1


@dataclass(frozen=True)
class ListenAddress:
    """An address to listen on; the system chooses the port if it is 0."""

    host: str
    port: int

    def __str__(self) -> str:
        return join_port(self.host, self.port)


@dataclass(frozen=True)
class Bound:
    """The addresses on which a gateway listens."""

    http: ListenAddress
    grpc: ListenAddress


@dataclass(frozen=True)
class GatewayOptions:
    """The settings of one gateway.

    Without ``triton_http``, HTTP requests too go to Triton over gRPC. Without ``server_id``,
    clients are told the id with which Triton was started. ``emulate`` is the release of v1 whose
    texts and fields clients get (see releases.py).

    ``max_body_bytes`` is the limit of one HTTP body, of all HTTP bodies in memory, and of one gRPC
    message. ``max_in_flight`` is the limit, for each protocol, of the requests that are processed
    at one time; further requests wait. ``max_connections`` is the limit of HTTP connections,
    ``max_streams`` that of open ``StreamInfer`` calls. ``client_timeout`` is the number of seconds
    for which a client may keep the gateway waiting. ``upstream_timeout``, ``load_timeout`` and
    ``health_timeout`` are the numbers of seconds that Triton has to answer. ``drain`` is the number
    of seconds for which a stop only tells that the gateway is not ready; ``grace`` the number of
    seconds for which it then waits for requests in progress. ``workers`` is the number of
    processes; each of them has these limits for itself.
    """

    http: ListenAddress
    grpc: ListenAddress
    triton_grpc: Endpoint
    triton_http: Endpoint | None = None
    server_id: str = ""
    emulate: str = ""
    access_log: bool = False
    max_body_bytes: int = LARGEST_MESSAGE
    max_in_flight: int = 512
    max_connections: int = 8192
    max_streams: int = 512
    client_timeout: float = 30.0
    upstream_timeout: float = 60.0
    load_timeout: float = 600.0
    health_timeout: float = 2.0
    drain: float = 1.0
    grace: float = 10.0
    workers: int = 1

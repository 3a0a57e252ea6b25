"""What a gateway is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from tritonclient_shim.core.addresses import join_port
from tritonclient_shim.core.model import Endpoint

#: v1's limit of a gRPC message, on both sides (docs/v1-behaviour.md §9.2).
LARGEST_MESSAGE = 2**31 - 1


@dataclass(frozen=True)
class Address:
    """Where to listen; port 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        return join_port(self.host, self.port)


@dataclass(frozen=True)
class Options:
    """The settings of one gateway.

    ``triton_http`` None: requests that come over HTTP go to Triton over gRPC as well.
    ``server_id`` '': the id that Triton has been started with. ``max_body_bytes`` bounds one
    HTTP body, the HTTP bodies held at one time taken together, and one gRPC message.
    ``max_in_flight`` bounds the requests that are being answered, per protocol; more wait.
    ``max_connections`` bounds HTTP connections, ``max_streams`` open ``StreamInfer`` calls.
    ``client_timeout`` is how many seconds an HTTP client may keep the gateway waiting. ``grace``
    is how many seconds a stop waits for requests that are being answered.
    """

    http: Address
    grpc: Address
    triton_grpc: Endpoint
    triton_http: Endpoint | None = None
    server_id: str = ""
    access_log: bool = False
    max_body_bytes: int = LARGEST_MESSAGE
    max_in_flight: int = 512
    max_connections: int = 8192
    max_streams: int = 512
    client_timeout: float = 30.0
    grace: float = 10.0

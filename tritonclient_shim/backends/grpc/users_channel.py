"""KServe v2 on a gRPC channel that belongs to the user: its options, credentials, interceptors.

Nothing here opens, closes or replaces a connection. Every call carries the user's options. The
time limit holds for all calls of one :class:`ChannelBackend` together.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass
from typing import Any, Hashable, Iterator, Sequence

from tritonclient_shim.backends.base import CallHeaders
from tritonclient_shim.backends.grpc.backend import GrpcBackend
from tritonclient_shim.backends.grpc.channel import (
    INFER,
    STREAM,
    unary_method,
)
from tritonclient_shim.backends.grpc.greenlets import prepare_grpc, prepare_stream
from tritonclient_shim.core.errors import BackendError, TransportError
from tritonclient_shim.core.model import GRPC, Endpoint
from tritonclient_shim.servers.known import KnownServer

#: The address of a channel is the user's secret; all channels share this endpoint.
CHANNEL = Endpoint(GRPC, "channel")


@dataclass(frozen=True)
class CallOptions:
    """What a gRPC user may give for one call; ``deadline`` is a time of ``time.monotonic``."""

    deadline: float | None = None
    metadata: Sequence[tuple[str, Any]] | None = None
    credentials: Any = None
    wait_for_ready: bool | None = None
    compression: Any = None

    def user(self) -> Hashable:
        """Return what makes calls those of one user: calls with the same answers, in time."""
        metadata = tuple(map(tuple, self.metadata or ()))
        return (self.deadline, metadata, self.credentials)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a call that starts now."""
        arguments = dict(vars(self))
        deadline = arguments.pop("deadline")
        arguments["timeout"] = None if deadline is None else deadline - time.monotonic()
        return arguments


class ChannelConnection:
    """The v2 methods of one channel, in the place of a :class:`GrpcConnection`.

    ``last`` is gRPC's object for the latest call, None before the first.
    """

    def __init__(self, channel: Any) -> None:
        prepare_grpc()
        self.channel = channel
        self.server = KnownServer()
        self.infer = channel.unary_unary(INFER)
        self._stream = channel.stream_stream(STREAM)
        self._options = CallOptions()
        self.last: Any = None

    def bound(self, options: CallOptions) -> ChannelConnection:
        """Return the connection for one call of the user."""
        bound = copy(self)
        bound._options = options
        return bound

    def call(self, name: str, request: Any, _: CallHeaders) -> Any:
        """Call a unary method of protobuf messages."""
        return self._call(unary_method(self.channel, name), request)

    def exchange(self, request: list[bytes], _: CallHeaders) -> Any:
        """Return the serialised reply to a serialised request, which is alone in its list."""
        return self._call(self.infer, request[0])

    def _call(self, method: Any, request: Any) -> Any:
        reply, self.last = method.with_call(request, **self._options.arguments())
        return reply

    def start(self, request: bytes, _: CallHeaders) -> Any:
        """Send a serialised request in the background, and return gRPC's future."""
        self.last = self.infer.future(request, **self._options.arguments())
        return self.last

    def stream(self, requests: Iterator[bytes], headers: CallHeaders) -> Any:
        """Open a stream of serialised messages. TransportError where it would hang."""
        prepare_stream()
        self.last = self._stream(requests, **self._options.arguments())
        return self.last

    def fail(self, error: BackendError) -> None:
        """Forget the server after an error of the transport, but keep the user's channel."""
        if isinstance(error, TransportError):
            self.server = KnownServer()


class ChannelBackend(GrpcBackend):
    """A v2 server for one call of a channel's user, however many calls it takes."""

    def __init__(self, connection: ChannelConnection, options: CallOptions) -> None:
        self.bound: Any = connection.bound(options)
        super().__init__(CHANNEL, lambda: self.bound)
        self.user = options.user()

    def client(self) -> Any:
        """Raise TypeError: a stub has no context to unwrap."""
        raise TypeError("a user's channel has no tritonclient client; expected unwrap(context)")

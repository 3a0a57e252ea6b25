"""KServe v2 on a gRPC channel that belongs to the user: its options, credentials, interceptors.

Nothing here opens, closes or replaces a connection. Every call carries what the user gave for
it, and the time limit holds for all calls of one :class:`ChannelBackend` together.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Callable, Collection, Iterator, Sequence, TypeVar

from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.backends.grpc.backend import GrpcBackend
from tritonclient_shim.backends.grpc.connection import (
    ServerOfChannel,
    channel_state,
    connector_for,
    unary_method,
)
from tritonclient_shim.backends.grpc.errors import (
    CALL_ERRORS,
    StatusCode,
    as_backend_error,
    caused,
    error_of,
    in_users_words,
)
from tritonclient_shim.backends.grpc.framing import ShmUse, decode_reply
from tritonclient_shim.core.errors import BackendError, TransportError
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import GRPC, Endpoint

T = TypeVar("T")

_SERVICE = "/inference.GRPCInferenceService/"

#: The address of a channel is the user's secret; all channels share this endpoint.
CHANNEL = Endpoint(GRPC, "channel")
_NO_CONNECTOR = connector_for(CHANNEL)  # settings do not reach a user's channel


@dataclass(frozen=True)
class CallOptions:
    """What a gRPC user may give for one call; ``deadline`` is a time of ``time.monotonic``."""

    deadline: float | None = None
    metadata: Sequence[tuple[str, Any]] | None = None
    credentials: Any = None
    wait_for_ready: bool | None = None
    compression: Any = None

    def arguments(self) -> dict[str, Any]:
        """Arguments for a call that starts now."""
        timeout = None if self.deadline is None else self.deadline - time.monotonic()
        return {
            "timeout": timeout,
            "metadata": self.metadata,
            "credentials": self.credentials,
            "wait_for_ready": self.wait_for_ready,
            "compression": self.compression,
        }


class ChannelConnection:
    """The v2 methods of one channel."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self.server = ServerOfChannel(channel)
        self.infer = channel.unary_unary(_SERVICE + "ModelInfer")
        self.stream = channel.stream_stream(_SERVICE + "ModelStreamInfer")

    def method(self, name: str) -> Any:
        """Return the call object of a unary method of protobuf messages."""
        return unary_method(self._channel, name)

    def check_open(self) -> None:
        """Raise gRPC's ValueError if the user has closed the channel."""
        channel_state(self._channel)


class _Unary:
    """A unary method with the options of one user's call."""

    def __init__(self, method: Any, call: BoundConnection) -> None:
        self._method = method
        self._bound = call

    def __call__(self, request: Any) -> Any:
        response, self._bound.last = self._method.with_call(
            request, **self._bound.options.arguments()
        )
        return response

    def future(self, request: Any) -> Any:
        future = self._method.future(request, **self._bound.options.arguments())
        self._bound.last = future
        return future


class _Stream:
    """A running stream; an interceptor's own iterator of responses will do."""

    def __init__(self, responses: Any) -> None:
        self._responses = responses

    def __iter__(self) -> Iterator[Any]:
        return iter(self._responses)

    def cancel(self) -> None:
        getattr(self._responses, "cancel", bool)()


class BoundConnection:
    """A connection as one call of the user sees it: what :class:`GrpcBackend` works with.

    ``last`` is gRPC's object for the latest call, None before the first.
    """

    def __init__(self, connection: ChannelConnection, options: CallOptions) -> None:
        self._connection = connection
        self.options = options
        self.last: Any = None
        self.server = connection.server

    @property
    def infer(self) -> _Unary:
        """ModelInfer of serialised messages."""
        return _Unary(self._connection.infer, self)

    def exchange(self, request: list[bytes]) -> Any:
        """ModelInfer: the serialised request, alone in its list → the serialised reply."""
        return self.infer(request[0])

    def stream(self, requests: Iterator[bytes]) -> _Stream:
        """ModelStreamInfer of serialised messages."""
        self.last = self._connection.stream(requests, **self.options.arguments())
        return _Stream(self.last)

    def method(self, name: str) -> _Unary:
        """Return the call object of a unary method; see :meth:`ChannelConnection.method`."""
        return _Unary(self._connection.method(name), self)


class ChannelBackend(GrpcBackend):
    """A v2 server for one call of a channel's user, however many calls it takes."""

    def __init__(self, connection: ChannelConnection, options: CallOptions) -> None:
        super().__init__(_NO_CONNECTOR)
        self.bound = BoundConnection(connection, options)

    def known_server(self) -> KnownServer:
        """Return what is known of the server behind this channel."""
        return self.bound.server.present()

    def client(self) -> Any:
        """Raise TypeError: a stub has no context to unwrap."""
        raise TypeError("a user's channel has no tritonclient client; expected unwrap(context)")

    def _call(self, begin: Callable[[Any], T], regions: Collection[str] = ()) -> T:
        try:
            return begin(self.bound)
        except CALL_ERRORS as error:
            backend_error = as_backend_error(error, regions)
            self._discard_if_broken(self.bound, backend_error)
            raise backend_error from error

    def _outcome(self, connection: Any, future: Any, use: ShmUse) -> Outcome:
        if future.code() is StatusCode.OK:
            return decode_reply(future.result(), use.outputs)
        error = None if future.cancelled() else future.exception()
        backend_error = error_of(future.code(), future.details())
        return caused(in_users_words(backend_error, use.regions), error)

    def _discard_if_broken(self, connection: Any, error: BackendError) -> None:
        """Keep the channel, which is the user's, whatever happened."""
        if isinstance(error, TransportError):
            connection.server.lose()

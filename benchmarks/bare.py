"""The bare program: sends the facade's finished requests over the facade's transport.

It receives the replies completely, and ignores them. So facade ÷ bare is the cost of making
requests and reading replies. The requests are recorded from a call of the facade. Over gRPC, the
transport is grpcio on bytes. Over HTTP, it is the facade's connections and threads.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue
from typing import Any, List, Sequence, Tuple
from unittest.mock import patch

import grpc

from benchmarks.harness import LONGEST_WAIT, Call
from tensorrtserver.api import ProtocolType
from tritonclient_shim.backends.grpc import backend, framing, stream
from tritonclient_shim.backends.grpc.channel import options_of
from tritonclient_shim.backends.http.connections import MAX_IN_FLIGHT, HttpPool
from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.settings import DEFAULTS

_SERVICE = "/inference.GRPCInferenceService/"
Recorded = List[Tuple[HttpPool, bytes]]


class _Grpc:
    """A new channel with the facade's options. Messages are bytes."""

    def __init__(self, url: str, closing: ExitStack) -> None:
        channel = grpc.insecure_channel(url, options=options_of(DEFAULTS))
        closing.callback(channel.close)
        self.infer = channel.unary_unary(f"{_SERVICE}ModelInfer")
        self.stream = channel.stream_stream(f"{_SERVICE}ModelStreamInfer")

    def infer_all(self, requests: Sequence[bytes]) -> list[bytes]:
        """Send all requests, then wait for the replies."""
        sent = [self.infer.future(request) for request in requests]
        return [future.result() for future in sent]


class _Http:
    """The facade's connections to a server, and threads like its own for asynchronous requests."""

    def __init__(self, pool: HttpPool) -> None:
        self._pool = pool
        self._executor = DaemonExecutor(MAX_IN_FLIGHT, "bare")

    def infer(self, request: bytes) -> Reply:
        """Return the reply. Raise AssertionError if the server reports an error."""
        return _accepted(self._pool.request([request]))

    def infer_all(self, requests: Sequence[bytes]) -> list[Reply]:
        """Send all requests, then wait for the replies, which come in any order."""
        replies: SimpleQueue[Reply] = SimpleQueue()

        def send(request: bytes) -> None:
            replies.put(self._pool.request([request]))

        for request in requests:
            self._executor.execute(partial(send, request))
        return [_accepted(replies.get(timeout=LONGEST_WAIT)) for _ in requests]


def _accepted(reply: Reply) -> Reply:
    """Return the reply if its status is 200. gRPC raises errors by itself."""
    if reply.status != 200:
        raise AssertionError(f"a bare request was refused with status {reply.status}")
    return reply


def single_request(facade: Call, url: str, protocol: int, closing: ExitStack) -> Call:
    """Return a call that sends the only request of a call of ``facade``."""
    facade()  # the first call may ask the server for more
    transport, (request,) = _ready(facade, url, protocol, closing)
    return partial(transport.infer, request)


def in_flight(facade: Call, url: str, protocol: int, closing: ExitStack) -> Call:
    """Return a call that sends all requests of a call of ``facade``, then waits for the replies."""
    transport, requests = _ready(facade, url, protocol, closing)
    return partial(transport.infer_all, requests)


def streamed(facade: Call, url: str, closing: ExitStack) -> Call:
    """Return a call that sends all requests of a call of ``facade`` over a new gRPC stream.

    A sequence keeps its id in every call. The first request starts the sequence anew.
    """
    transport, requests = _Grpc(url, closing), _sent_by_grpc(facade)
    return lambda: list(transport.stream(iter(requests)))


def _ready(
    facade: Call, url: str, protocol: int, closing: ExitStack
) -> tuple[_Grpc | _Http, list[bytes]]:
    """Return the transport, and the requests of a call of ``facade``."""
    if protocol == ProtocolType.GRPC:
        return _Grpc(url, closing), _sent_by_grpc(facade)
    sent = _sent_by_http(facade)
    return _Http(sent[0][0]), [request for _, request in sent]


def _sent_by_grpc(facade: Call) -> list[bytes]:
    sent: list[bytes] = []

    def encode_request(call: Any) -> bytes:
        sent.append(framing.encode_request(call))
        return sent[-1]

    with patch.object(backend, "encode_request", encode_request), patch.object(
        stream, "encode_request", encode_request
    ):
        facade()
    return sent


def _sent_by_http(facade: Call) -> Recorded:
    """Return the requests of a call, each with its connections."""
    sent: Recorded = []
    send = HttpPool.request

    def request(pool: HttpPool, pieces: Sequence[Buffer], repeatable: bool = False) -> Reply:
        sent.append((pool, b"".join(pieces)))
        return send(pool, pieces, repeatable)

    with patch.object(HttpPool, "request", request):
        facade()
    return sent

"""``StreamInfer`` of the gateway: one v1 stream over one v2 stream, or several in succession.

v1's clients wait for ever when a stream breaks (docs/v1-behaviour.md §5). Therefore the v1 stream
stays open as long as its client does. When the v2 stream breaks, the gateway itself answers the
requests that the v2 server has not answered, with UNAVAILABLE, and the next request opens another
v2 stream. The client has to start an open sequence again.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from functools import partial
from typing import Any, Iterator

import grpc

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.gateway.upstream import Upstream
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.service.streams import OrderedStream
from tritonclient_shim.session.sequences import Sequences


class _Requests:
    """The client's requests, and the ids of those that have not been answered.

    The thread that passes requests to a v2 stream may still wait for the next one when that stream
    has broken. The request that it then gets is kept for the next v2 stream: v2 streams are
    numbered, and a request goes only to the one with the current number.
    """

    def __init__(self, requests: Iterator[Any]) -> None:
        self._requests = requests
        self._reading = threading.Lock()
        self._lock = threading.Lock()
        self._number = 0
        self._ids: deque[int] = deque()
        self._kept: list[Any] = []

    def requests(self) -> Iterator[Any]:
        """The further requests for the current v2 stream, as they arrive."""
        return iter(partial(self._read, self._number), None)

    def first(self) -> Any:
        """The next request for the current v2 stream; None when the client has no more."""
        return self._read(self._number)

    def answered(self) -> None:
        """The oldest request has been answered."""
        with self._lock:
            self._ids.popleft()

    def abandoned(self) -> list[int]:
        """The current v2 stream has ended → the ids of the requests that it has not answered."""
        with self._lock:
            self._number += 1
            ids = list(self._ids)
            self._ids.clear()
            return ids

    def _read(self, number: int) -> Any:
        with self._reading:
            request = self._kept.pop() if self._kept else self._next()
            with self._lock:
                if request is not None and number == self._number:
                    self._ids.append(request.meta_data.id)
                    return request
            if request is not None:
                self._kept.append(request)
            return None

    def _next(self) -> Any:
        try:
            return next(self._requests, None)
        except grpc.RpcError:  # the client has cancelled the call
            return None


class V1Stream:
    """An iterator over the responses of one v1 stream, in the order of its requests."""

    def __init__(self, upstream: Upstream, requests: Iterator[Any]) -> None:
        self._upstream = upstream
        self._requests = _Requests(requests)
        self._stream: OrderedStream | None = None
        self._sequences = Sequences()
        self._cancelled = False

    def cancel(self) -> None:
        """The client has cancelled the call, or it has ended: cancel the v2 stream."""
        self._cancelled = True
        if self._stream is not None:
            self._stream.cancel()

    def __iter__(self) -> Iterator[Any]:
        while not self._cancelled:
            first = self._requests.first()
            if first is None:
                return
            yield from self._until_broken(itertools.chain([first], self._requests.requests()))

    def _until_broken(self, requests: Iterator[Any]) -> Iterator[Any]:
        self._stream = OrderedStream(self._upstream.infer, requests, self._sequences)
        if self._cancelled:  # since the last look
            self._stream.cancel()
        broken = InferenceServerException("its stream was closed")
        try:
            for response in self._stream:
                self._requests.answered()
                yield response
        except InferenceServerException as error:
            broken = error
        for number in self._requests.abandoned():
            failure = self._upstream.failure(broken)
            yield pb.InferResponse(request_status=failure, meta_data={"id": number})

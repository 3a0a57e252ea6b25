"""``StreamInfer`` of the gateway: one v1 stream over one v2 stream, or several in succession.

v1's clients wait for ever when a stream breaks (docs/v1-behaviour.md §5). Therefore the v1 stream
stays open as long as its client does. When the v2 stream breaks, or Triton does not answer in time,
the gateway itself answers the requests that the v2 server has not answered, with UNAVAILABLE, and
the next request opens another v2 stream. The client has to start an open sequence again.

An idle v1 stream has neither a thread nor a v2 stream: that one is closed when everything has been
answered and nothing more comes. Sequences stay open, since they are the v2 server's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, AsyncIterator

import grpc

from tritonclient_shim.backends.base import CallHeaders
from tritonclient_shim.core.errors import BackendError, InferenceServerException
from tritonclient_shim.gateway.access_log import AccessLog
from tritonclient_shim.gateway.grpc.messages import Responses, read_request
from tritonclient_shim.gateway.upstream.inference import End, Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.gateway.upstream.stream import StreamBehind, StreamedRequest

#: Bytes of the requests of one stream that have not been answered, before no more are read.
MAX_UNREAD = 64 * 1024 * 1024


def peer_of(context: Any) -> str:
    """Return the address of a call's client, as gRPC writes it (``ipv4:127.0.0.1:4711``)."""
    return str(context.peer())


class V1Stream:
    """The responses of one v1 stream, in the order of its requests. It is used in one event loop.

    ``unreadable`` tells, at the end, that a message came which is no request.
    """

    def __init__(
        self,
        upstream: Upstream,
        inference: Inferences,
        responses: Responses,
        context: Any,
        access_log: AccessLog,
        headers: CallHeaders,
    ) -> None:
        self._access_log = access_log
        self._peer = peer_of(context) if access_log.wants_peers else ""
        self._upstream = upstream
        self._inference = inference
        self._responses = responses
        self._context = context
        self._entries: deque[StreamedRequest] = deque()  # unanswered, in the order of the requests
        self._unread = 0
        self._changed = asyncio.Event()
        self._behind = StreamBehind(upstream, inference, headers)
        self.unreadable = False
        self._reading = asyncio.ensure_future(self._read())

    def close(self) -> None:
        """End the v2 stream and read no more requests."""
        self._reading.cancel()
        self._behind.cancel()

    async def responses(self) -> AsyncIterator[bytes]:
        """Yield the serialised response of each request."""
        while True:
            if self._entries:
                entry = self._entries[0]
                with self._access_log.request(entry.record) as record:
                    record.status, response = await self._response(entry, await self._end(entry))
                    record.sent, record.peer = len(response), self._peer
                self._entries.popleft()
                self._unread -= entry.size
                self._changed.set()  # there is room for requests
                if not self._entries:
                    self._behind.rest()
                yield response
            elif self._reading.done():
                return
            else:
                self._changed.clear()
                await self._changed.wait()

    async def _end(self, entry: StreamedRequest) -> End:
        if not entry.end.done():

            def end(error: BackendError) -> None:
                self._behind.give_up(error)
                entry.settle(self._upstream.error_of(error))  # its stream may not be open yet

            stop_waiting = self._inference.wait(end)
            try:
                await entry.end
            finally:
                stop_waiting()
        return entry.end.result()

    async def _response(self, entry: StreamedRequest, end: End) -> tuple[Any, bytes]:
        if isinstance(end, InferenceServerException):
            return self._responses.of_failure(end, entry.inference.client_id)
        return await self._inference.read(end, entry.inference.headers, self._responses.of)

    # -------------------------------------------------------------------------- requests

    async def _read(self) -> None:
        try:
            while await self._read_request():
                pass
        finally:
            self._changed.set()

    async def _read_request(self) -> bool:
        """Send the next request on. Return False if there are no more."""
        data = await self._context.read()
        if data is grpc.aio.EOF:
            return False
        request = read_request(data)
        if request is None:
            self.unreadable = True
            return False
        entry = StreamedRequest(self._upstream.infer.inference(request), request.size)
        while self._unread and self._unread + entry.size > MAX_UNREAD:
            self._changed.clear()
            await self._changed.wait()
        self._unread += entry.size
        self._entries.append(entry)
        self._changed.set()
        await self._behind.send(entry)
        return True

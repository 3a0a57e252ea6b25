"""Inference for both of the gateway's protocols: no thread waits while the v2 server computes."""

from __future__ import annotations

import asyncio
import time
from typing import Callable, TypeVar, Union, cast

from tritonclient_shim.backends.base import CallHeaders, Outcome, StreamingBackend
from tritonclient_shim.backends.headers import call_with
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import BackendError, InferenceServerException, TransportError
from tritonclient_shim.gateway.access_log import Meter
from tritonclient_shim.gateway.options import GatewayOptions
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.session.inference import Answer, Inference, Refused, Sendable

T = TypeVar("T")

#: The end of a request; the error if it failed inside the gateway, or if its stream broke.
End = Union[Answer, InferenceServerException]

#: Ends the wait for an answer of the v2 server.
EndWait = Callable[[TransportError], None]

#: Threads for questions to the v2 server.
_THREADS = 64

_NO_SLOT = (
    "the gateway answers {0} requests at one time, as many as --max-in-flight allows, and none of "
    "them has ended within {1:g} seconds: send the request again, or start the gateway with a "
    "larger --max-in-flight"
)


class Inferences:
    """Sends inference requests to one v2 server. It is made and used in one event loop.

    A request counts towards ``max_in_flight`` from when it has arrived completely until the v2
    server has answered it, or the time limit has passed. It does not count while its client sends
    it, or receives the answer, however slowly.
    """

    def __init__(
        self, upstream: Upstream, options: GatewayOptions, protocol: str, meter: Meter
    ) -> None:
        self._upstream = upstream
        self._protocol = protocol  # of the clients
        self._meter = meter
        self._limit = options.max_in_flight
        self._free = asyncio.Semaphore(options.max_in_flight)
        self._timeout = upstream.session.timeout
        self._loop = asyncio.get_running_loop()
        self._asking: set[asyncio.Task[None]] = set()  # the event loop does not keep them
        self._threads = DaemonExecutor(_THREADS, "gateway-infer")
        #: The functions that end the waits for the v2 server, and when each wait began.
        self._waits: dict[EndWait, float] = {}
        self._watching = asyncio.ensure_future(self._watch())

    def close(self) -> None:
        """End the threads when they have nothing left to do; do not wait for them."""
        self._watching.cancel()
        self._threads.shutdown()

    async def answer(self, inference: Inference, read: Callable[[Answer], T]) -> T:
        """Send a request, and return the result of ``read`` for its answer.

        Raise InferenceServerException if there is no free slot within the time limit. Exceptions
        of ``read`` pass.
        """
        await self._slot()
        answer = await self._answer(inference)
        return await self.read(answer, inference.headers, read)

    async def read(self, answer: Answer, headers: CallHeaders, read: Callable[[Answer], T]) -> T:
        """Call ``read``, on a thread if it may have to ask the v2 server.

        Raise InferenceServerException.
        """
        try:
            if self._upstream.known_id and answer.is_prompt():
                return read(answer)
            return await self.on_thread(call_with, headers, read, answer)
        except InferenceServerException:
            raise
        except Exception as error:  # its client waits for an answer, whatever has failed
            raise self._upstream.defect(error) from error

    async def on_thread(self, function: Callable[..., T], *arguments: object) -> T:
        """Call the function on a thread that may wait."""
        return await self._loop.run_in_executor(self._threads, function, *arguments)

    async def _slot(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            await asyncio.wait_for(self._free.acquire(), self._timeout)
        except asyncio.TimeoutError:
            error = TransportError(_NO_SLOT.format(self._limit, self._timeout))
            raise InferenceServerException(error.message) from error

    async def _answer(self, inference: Inference) -> Answer:
        """Return the answer. The request keeps its slot until then, even if its client leaves.

        Raise InferenceServerException if it failed inside the gateway.
        """
        arrived: asyncio.Future[Answer] = self._loop.create_future()
        stop_waiting = self.wait(lambda error: _settle(arrived, Refused(inference, error)))

        def free(_: object) -> None:
            stop_waiting()
            self._free.release()

        arrived.add_done_callback(free)
        task = self._loop.create_task(self._ask(inference, arrived))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        start = time.perf_counter()
        try:
            return await asyncio.shield(arrived)
        finally:
            self._meter.upstream(self._protocol, time.perf_counter() - start)

    async def _ask(self, inference: Inference, arrived: asyncio.Future[Answer]) -> None:
        """Prepare and send a request. Settle ``arrived``, whatever fails."""
        try:
            sendable = await self._sendable(inference)
            _settle(arrived, sendable.answered(await self._outcome(sendable)))
        except BackendError as backend_error:
            _settle(arrived, Refused(inference, backend_error))
        except Exception as error:  # the request waits for an answer, whatever has failed
            _settle(arrived, self._upstream.defect(error))

    async def _sendable(self, inference: Inference) -> Sendable:
        sendable = inference.prepare_promptly()
        if sendable is not None:
            return sendable
        return await self.on_thread(call_with, inference.headers, inference.prepare)

    async def _outcome(self, sendable: Sendable) -> Outcome:
        try:
            backend = cast(StreamingBackend, self._upstream.session.backend)
            return await backend.infer_in_loop(sendable.call)()
        except BackendError as error:
            return error

    def wait(self, end: EndWait) -> Callable[[], None]:
        """Begin a wait for the v2 server. Return the function to call after an answer.

        ``end`` is called with an error at the time limit, or earlier if the server hangs.
        """
        limit = self._loop.call_later(self._timeout, self._end_late, end)
        self._waits[end] = time.monotonic()

        def stop() -> None:
            limit.cancel()
            self._waits.pop(end, None)

        return stop

    def _end_late(self, end: EndWait) -> None:
        end(self._upstream.session.timed_out())

    async def _watch(self) -> None:
        """End waits early while the server hangs. A slow model alone does not end them."""
        health = self._upstream.server_health
        while True:
            await asyncio.sleep(health.patience)
            begun = time.monotonic() - health.patience
            old = [end for end, since in self._waits.items() if since <= begun]
            error = None
            if old:
                try:
                    error = await self.on_thread(health.hang)
                except Exception:  # such as a plugin's: the log reports it when a request fails
                    continue
            if error is not None:
                for end in self._waits.keys() & old:
                    end(error)


def _settle(arrived: asyncio.Future[Answer], end: End) -> None:
    if arrived.done():
        return
    if isinstance(end, InferenceServerException):
        arrived.set_exception(end)
        arrived.exception()  # if its client has left, nobody retrieves it
    else:
        arrived.set_result(end)

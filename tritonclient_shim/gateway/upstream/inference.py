"""Inference for both of the gateway's protocols: no thread waits while the v2 server computes."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Awaitable, Callable, TypeVar, Union, cast

from tritonclient_shim.backends.base import CallHeaders, Outcome, StreamingBackend
from tritonclient_shim.backends.headers import call_with
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import Fault, InferenceServerException, TransportFault
from tritonclient_shim.gateway.access_log import Meter
from tritonclient_shim.gateway.options import GatewayOptions
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.session.inference import Answer, Inference, Refused, Sendable

T = TypeVar("T")

#: What came of a request; the error of one that failed inside the gateway, or whose stream broke.
Came = Union[Answer, InferenceServerException]

#: Sends a request and waits for what comes of it.
Ask = Callable[[], Awaitable[Outcome]]
#: Ends the wait for an answer of the v2 server.
EndWait = Callable[[TransportFault], None]
#: Runs a function with arguments in the event loop.
Run = Callable[..., None]

#: Threads for what the event loop must not do: ask the v2 server something, copy large tensors.
_THREADS = 64
#: Requests and replies with more bytes than this are copied on a thread.
LARGE = 1024 * 1024

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
        self._timeout = upstream.timeout
        self._loop = asyncio.get_running_loop()
        self._asking: set[asyncio.Task[None]] = set()  # the event loop does not keep them
        self._threads = DaemonExecutor(_THREADS, "gateway-infer")
        #: What ends each wait for the v2 server, and when it began; the oldest first.
        self._waits: dict[EndWait, float] = {}
        self._watching = asyncio.ensure_future(self._watch())

    def close(self) -> None:
        """End the threads when they have nothing left to do; does not wait for them."""
        self._watching.cancel()
        self._threads.shutdown()

    async def answer(self, inference: Inference, size: int, read: Callable[[Answer], T]) -> T:
        """Send a request of ``size`` bytes → what ``read`` makes of its answer.

        Raises InferenceServerException when there is no free slot within the time limit, and what
        ``read`` raises.
        """
        await self._slot()
        answer = await self._answer(inference, size)
        return await self.read(answer, inference.headers, read)

    async def read(self, answer: Answer, headers: CallHeaders, read: Callable[[Answer], T]) -> T:
        """What ``read`` makes of an answer, on a thread if it may have to ask the v2 server.

        Raises InferenceServerException.
        """
        try:
            if self._upstream.id_is_known and answer.is_prompt() and _is_small(answer):
                return read(answer)
            return await self.on_thread(call_with, headers, read, answer)
        except InferenceServerException:
            raise
        except Exception as error:  # its client waits for an answer, whatever has failed
            raise self._upstream.defect(error) from error

    async def on_thread(self, function: Callable[..., T], *arguments: object) -> T:
        """What the function returns or raises, on a thread that may wait."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, function, *arguments)

    async def _slot(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            await asyncio.wait_for(self._free.acquire(), self._timeout)
        except asyncio.TimeoutError:
            fault = TransportFault(_NO_SLOT.format(self._limit, self._timeout))
            raise InferenceServerException(fault.message) from fault

    async def _answer(self, inference: Inference, size: int) -> Answer:
        """Return the answer. The request keeps its slot until then, even if its client leaves.

        Raises InferenceServerException if it failed inside the gateway.
        """
        arrived: asyncio.Future[Answer] = self._loop.create_future()
        stop_waiting = self.wait(lambda fault: _settle(arrived, Refused(inference.identity, fault)))

        def free(_: object) -> None:
            stop_waiting()
            self._free.release()

        arrived.add_done_callback(free)
        prompt = None if size > LARGE else self._prepared_promptly(inference, arrived)
        if prompt is not None:
            self._send(prompt, arrived, _run_now)
        elif not arrived.done():
            send = partial(self._prepare_and_send, inference, arrived)
            self._threads.execute(partial(call_with, inference.headers, send))
        sent = time.perf_counter()
        try:
            return await asyncio.shield(arrived)
        finally:
            self._meter.upstream(self._protocol, time.perf_counter() - sent)

    def wait(self, end: EndWait) -> Callable[[], None]:
        """Begin a wait for the v2 server → the function that ends it after an answer.

        ``end`` is called with a fault at the time limit, or earlier if the server hangs.
        """
        limit = self._loop.call_later(self._timeout, self._late, end)
        self._waits[end] = time.monotonic()

        def stop() -> None:
            limit.cancel()
            self._waits.pop(end, None)

        return stop

    def _late(self, end: EndWait) -> None:
        end(self._upstream.timed_out())

    async def _watch(self) -> None:
        """End waits early while the server hangs. A slow model alone does not end them."""
        patience = self._upstream.patience
        while True:
            await asyncio.sleep(patience)
            begun = time.monotonic() - patience
            old = [end for end, since in self._waits.items() if since <= begun]
            if old:
                await self._end_if_hanging(old)

    async def _end_if_hanging(self, waits: list[EndWait]) -> None:
        try:
            fault = await self.on_thread(self._upstream.hang)
        except Exception:  # such as a plugin's: it is logged when it fails a request
            return
        if fault is not None:
            for end in self._waits.keys() & waits:
                end(fault)

    def _prepared_promptly(
        self, inference: Inference, arrived: asyncio.Future[Answer]
    ) -> Sendable | None:
        """Return what can be sent at once, if anything; a defect is the answer."""
        try:
            return inference.prepare_promptly()
        except Exception as error:  # the request waits for an answer, whatever has failed
            _settle(arrived, self._upstream.defect(error))
            return None

    def _prepare_and_send(self, inference: Inference, arrived: asyncio.Future[Answer]) -> None:
        """Prepare and send a request, on a thread; whatever fails is the answer."""
        try:
            sendable = inference.prepare()
        except Fault as fault:
            self._run_soon(_settle, arrived, Refused(inference.identity, fault))
        except Exception as error:  # the request waits for an answer, whatever has failed
            self._run_soon(_settle, arrived, self._upstream.defect(error))
        else:
            self._send(sendable, arrived, self._run_soon)

    def _send(self, sendable: Sendable, arrived: asyncio.Future[Answer], run: Run) -> None:
        """Send a request; whatever fails is the answer."""
        try:
            backend = cast(StreamingBackend, self._upstream.backend)
            run(self._begin, sendable, backend.infer_in_loop(sendable.call), arrived)
        except Fault as fault:
            run(_settle, arrived, sendable.answered(fault))
        except Exception as error:  # the request waits for an answer, whatever has failed
            run(_settle, arrived, self._upstream.defect(error))

    def _run_soon(self, function: Callable[..., object], *arguments: object) -> None:
        """Run a function in the event loop, from another thread."""
        with suppress(RuntimeError):  # the event loop is closed: the gateway has stopped
            self._loop.call_soon_threadsafe(function, *arguments)

    def _begin(self, sendable: Sendable, ask: Ask, arrived: asyncio.Future[Answer]) -> None:
        task = self._loop.create_task(self._ask(sendable, ask, arrived))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, sendable: Sendable, ask: Ask, arrived: asyncio.Future[Answer]) -> None:
        try:
            _settle(arrived, sendable.answered(await ask()))
        except Exception as error:  # the request waits for an answer, whatever has failed
            _settle(arrived, self._upstream.defect(error))


def _run_now(function: Callable[..., object], *arguments: object) -> None:
    function(*arguments)


def _settle(arrived: asyncio.Future[Answer], came: Came) -> None:
    if arrived.done():
        return
    if isinstance(came, InferenceServerException):
        arrived.set_exception(came)
        arrived.exception()  # its client may have left: nobody is told of it then
    else:
        arrived.set_result(came)


def _is_small(answer: Answer) -> bool:
    if isinstance(answer, Refused) or isinstance(answer.outcome, Fault):
        return True
    tensors = [output.data for output in answer.outcome.outputs if output.data is not None]
    return sum(map(len, tensors)) <= LARGE

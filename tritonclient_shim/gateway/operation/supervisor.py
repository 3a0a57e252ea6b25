"""A gateway of several worker processes: starts them, starts them again, and stops them.

Each worker is a gateway of its own on the same addresses, see ``addresses.py``. The supervisor
answers no requests. A worker that ends is replaced; one that ends again soon is replaced after a
pause that grows. All workers stop when the supervisor does, whatever ends it, because the pipe
between them closes then.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import signal
import sys
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any, Callable

from tritonclient_shim.gateway.addresses import reserve
from tritonclient_shim.gateway.operation.figures import Figures
from tritonclient_shim.gateway.options.table import Bound, GatewayOptions

log = logging.getLogger("tritonclient_shim.gateway")

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_COMMAND = (sys.executable, "-m", f"{__package__}.worker")
#: A worker that has lived for so many seconds is replaced at once.
_LONG = 60.0
#: Seconds before a worker that has ended sooner is replaced: at first, and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
#: Seconds beyond its time of grace after which a worker that does not end is killed.
_OVERTIME = 5.0


def run(options: GatewayOptions, ready: Callable[[Bound], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``ready`` is called once, when all workers listen.

    Raises OSError or RuntimeError when a worker cannot listen on an address.
    """
    asyncio.run(_supervise(options, ready))


async def _supervise(options: GatewayOptions, ready: Callable[[Bound], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as held:
        http, grpc = reserve(options.http, held), reserve(options.grpc, held)
        options = replace(options, http=http, grpc=grpc)
        figures = Figures(options.metrics_address, held)
        workers = [Worker(number, options, figures) for number in range(options.workers)]
        bound = Bound(http, grpc, await figures.serve(lambda: _serves(workers, stop)))
        for number in _SIGNALS:
            loop.add_signal_handler(number, _on_signal, number, stop, workers)
        try:
            await asyncio.gather(*(one.start() for one in workers))
            ready(bound)
            kept = [asyncio.ensure_future(one.keep(stop)) for one in workers]
            await stop.wait()
            await asyncio.gather(*kept)
        finally:
            await asyncio.gather(*(one.end() for one in workers))


def _serves(workers: list[Worker], stop: asyncio.Event) -> bool:
    """Are requests taken?"""
    return not stop.is_set() and any(one.serves for one in workers)


def _on_signal(number: int, stop: asyncio.Event, workers: list[Worker]) -> None:
    """The first signal stops the gateway; a further one ends all its processes at once."""
    if not stop.is_set():
        stop.set()
        return
    for one in workers:
        one.kill()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class Worker:
    """The worker of one number: a process, and the next one when that has ended."""

    def __init__(self, number: int, options: GatewayOptions, figures: Figures) -> None:
        self.serves = False
        self._figures = figures
        self._check = not number  # of Triton; one of the workers, once, is enough
        self._name = f"worker {number + 1} of {options.workers}"
        self._options = options
        self._process: Any = None
        self._started = 0.0
        self._pause = 0.0

    async def start(self) -> None:
        """Start the process; returns when it listens. RuntimeError with its reason if it ends."""
        self._started = time.monotonic()
        # A session of its own: Ctrl-C in a terminal is for the supervisor alone.
        process: Any = await asyncio.create_subprocess_exec(
            *_COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=self._figures.environment,
        )
        self._process = process
        process.stdin.write(pickle.dumps((self._options, self._check)))
        self._check = False
        with suppress(ConnectionError):  # it has ended already
            await process.stdin.drain()
        line = await process.stdout.readline()
        reason = json.loads(line)["error"] if line else "it ended before it listened"
        if reason is not None:
            raise RuntimeError(reason)
        self.serves = True

    async def keep(self, stop: asyncio.Event) -> None:
        """Replace the process whenever it ends; when the gateway stops, stop it."""
        stopped = asyncio.ensure_future(stop.wait())
        while not stop.is_set():
            ended = asyncio.ensure_future(self._process.wait())
            await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                break
            await self._replace(stopped)
        await self.end()

    async def _replace(self, stopped: asyncio.Future[Any]) -> None:
        self.serves = False
        self._figures.forget(self._process.pid)
        if time.monotonic() - self._started > _LONG:
            self._pause = 0.0
        log.warning(
            "%s (process %d) has ended %s; another one is started %s",
            self._name,
            self._process.pid,
            _how(self._process.returncode),
            f"in {self._pause:g} seconds" if self._pause else "now",
        )
        await asyncio.wait({stopped}, timeout=self._pause)
        self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        if stopped.done():
            return
        try:
            await self.start()
        except (OSError, RuntimeError) as error:
            log.warning("%s cannot start: %s", self._name, error)
            await self.end()
        else:
            log.warning("%s serves again (process %d)", self._name, self._process.pid)

    async def end(self) -> None:
        """Stop the process as a single gateway stops, and wait for its end."""
        process = self._process
        if process is None:
            return
        process.stdin.close()
        limit = self._options.drain + self._options.grace + _OVERTIME
        try:
            await asyncio.wait_for(process.wait(), limit)
        except asyncio.TimeoutError:
            log.warning("%s (process %d) does not stop and is killed", self._name, process.pid)
            self.kill()
            await process.wait()

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()


def _how(code: int) -> str:
    if code >= 0:
        return f"with status {code}"
    return f"by signal {signal.Signals(-code).name}"

"""A worker process of a gateway: ``python -m tritonclient_shim.gateway.operation.worker``.

The supervisor starts it. Its standard input has a pickled :class:`Task`, and then its end tells
that the worker shall stop, or that the supervisor is no more. On standard output it
writes one line of JSON, when it listens or when it cannot: ``{"error": null}`` or the reason.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import sys
from functools import partial
from typing import NamedTuple

from tritonclient_shim.gateway.operation import serve
from tritonclient_shim.gateway.operation.logs import log_to_stderr
from tritonclient_shim.gateway.options.table import GatewayOptions
from tritonclient_shim.settings import SettingsError

_STDIN, _STDOUT = 0, 1


class Task(NamedTuple):
    """What a worker is told: the options, and whether its log tells of a Triton that is silent."""

    options: GatewayOptions
    check: bool


def main() -> int:
    """Serve until the supervisor tells otherwise → the exit status."""
    task: Task = Task(*pickle.load(sys.stdin.buffer))
    log_to_stderr(task.options.access_log)
    try:
        asyncio.run(_work(task))
    except (OSError, RuntimeError, SettingsError) as error:
        _report(str(error))
        return 1
    return 0


async def _work(task: Task) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Whoever sends a signal to all processes of a service sends it here, too. So a second
        # one changes nothing; the supervisor knows how to end a worker at once.
        loop.add_signal_handler(number, stop.set)
    loop.add_reader(_STDIN, partial(_heard, stop))
    await serve.serve(task.options, lambda _: _report(None), stop, True, task.check)


def _heard(stop: asyncio.Event) -> None:
    if not os.read(_STDIN, 1):
        asyncio.get_running_loop().remove_reader(_STDIN)
        stop.set()


def _report(error: str | None) -> None:
    os.write(_STDOUT, json.dumps({"error": error}).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())

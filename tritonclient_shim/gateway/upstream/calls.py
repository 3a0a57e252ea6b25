"""v1's calls that are no inference, for both of the gateway's protocols."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Callable, TypeVar

from tritonclient_shim.backends.base import CallHeaders, call_with
from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.service import ALL_RPCS

T = TypeVar("T")

#: Threads of one kind of calls.
_THREADS = 64


class ControlCalls:
    """Answers calls on threads, because they wait for the v2 server. It is used in an event loop.

    Health and loads have threads of their own, because loads take minutes.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        health, loads, others = (
            DaemonExecutor(_THREADS, f"gateway-{kind}") for kind in ("health", "load", "control")
        )
        self._calls: dict[str, tuple[Callable[[Any], Any], DaemonExecutor]] = {
            "Health": (upstream.health, health),
            "ModelControl": (upstream.model_control, loads),
            "Status": (upstream.status, others),
            "Repository": (partial(upstream.service.answer, "Repository"), others),
            "Profile": (partial(upstream.service.answer, "Profile"), others),
            "SharedMemoryControl": (upstream.regions, others),
        }
        #: Name of a call → the class of its requests.
        self.requests: dict[str, Any] = {name: ALL_RPCS[name].request for name in self._calls}

    async def answer(
        self, rpc: str, request: Any, headers: CallHeaders, form: Callable[[Any], T]
    ) -> tuple[Any, T]:
        """Return v1's status, for the access log, and the result of ``form`` for the response.

        ``headers`` go with each call to the server.
        """
        ask, pool = self._calls[rpc]

        def on_thread() -> tuple[Any, T]:
            try:
                response = ask(request)
                self._upstream.release.reword(response.request_status)
            except Exception as error:  # a client waits for it, whatever has failed
                failure = self._upstream.failure(error)
                response = ALL_RPCS[rpc].response(request_status=failure)
            return response.request_status, form(response)

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(pool, call_with, headers, on_thread)

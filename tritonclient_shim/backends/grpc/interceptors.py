"""What the settings add to every gRPC call: a time limit, metadata, the changes of a plugin.

Only channels whose settings add something have the interceptor; calls on others cost no more. It
also adds the metadata of the thread's calls (``call_headers.py``).
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple

import grpc

from tritonclient_shim.backends import call_headers
from tritonclient_shim.backends.plugins import Plugin, headers_after
from tritonclient_shim.settings import Settings


class _CallFields(NamedTuple):
    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: Any
    compression: Any


class Details(_CallFields, grpc.ClientCallDetails):
    """gRPC's description of a call."""


def interceptor_of(settings: Settings, plugin: Plugin | None) -> CallInterceptor | None:
    """What adds to calls as the settings say; None where they add nothing."""
    wanted = (settings.network_timeout, settings.grpc_metadata, plugin)
    return None if wanted == (None, (), None) else CallInterceptor(*wanted)


class CallInterceptor(
    grpc.UnaryUnaryClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """``timeout``, in seconds, is that of unary calls; a stream may last as long as it likes."""

    def __init__(
        self,
        timeout: float | None,
        metadata: tuple[tuple[str, str], ...],
        plugin: Plugin | None,
    ) -> None:
        self._timeout = timeout
        self._metadata = metadata
        self._plugin = plugin

    def intercept_unary_unary(self, continuation: Callable[..., Any], call: Any, one: Any) -> Any:
        """A call with the time limit, unless it has its own, and with the metadata."""
        timeout = self._timeout if call.timeout is None else call.timeout
        return continuation(self._details(call, timeout), one)

    def intercept_stream_unary(
        self, continuation: Callable[..., Any], call: Any, several: Any
    ) -> Any:
        """The same as for one message: a large one comes as a stream."""
        return self.intercept_unary_unary(continuation, call, several)

    def intercept_stream_stream(
        self, continuation: Callable[..., Any], call: Any, several: Any
    ) -> Any:
        """A stream with the metadata."""
        return continuation(self._details(call, call.timeout), several)

    def _details(self, call: Any, timeout: float | None) -> Details:
        return Details(
            call.method,
            timeout,
            self.metadata_with(tuple(call.metadata or ())),
            call.credentials,
            getattr(call, "wait_for_ready", None),
            getattr(call, "compression", None),
        )

    def metadata_with(self, given: tuple[tuple[str, Any], ...]) -> Iterable[tuple[str, Any]]:
        """The metadata of a call that was given some."""
        metadata = self._metadata
        for more in (call_headers.current(), given):
            names = {name for name, _ in more}
            metadata = (*(pair for pair in metadata if pair[0] not in names), *more)
        if self._plugin is None:
            return metadata
        changed = headers_after(self._plugin, dict(metadata))
        return tuple((name.lower(), value) for name, value in changed.items())

"""What is known of the server behind a channel, for as long as the channel stays connected."""

from __future__ import annotations

from typing import Any

import grpc

from tritonclient_shim.core.metadata import KnownServer

_READY = grpc.ChannelConnectivity.READY.value[0]


class ServerOfChannel:
    """The server that a channel leads to. Any thread may call.

    A channel connects again by itself, and perhaps to another server. It shows whether it is
    connected, not whether it has been without a connection in between; what is known is not
    believed for long, either (see ``session/models.py``).
    """

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._server = KnownServer()

    def present(self) -> KnownServer:
        """What is known of the server; nothing if the channel has lost its connection."""
        if self._server.is_known and _state(self._channel) not in (_READY, None):
            self.lose()
        return self._server

    def lose(self) -> None:
        """A call has shown that the connection is lost."""
        self._server = KnownServer()


def _state(channel: Any) -> Any:
    """The state of a channel, None where it does not tell.

    grpcio's public way to it needs a thread that wakes up five times a second. The method is the
    innermost channel's, around which lie those of interceptors.
    """
    while channel is not None:
        state = getattr(channel, "check_connectivity_state", None)
        if state is not None:
            return state(False)
        channel = getattr(channel, "_channel", None)
    return None

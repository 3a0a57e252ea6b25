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
        self._followed: Any = None
        self._was_ready = False
        self._server = KnownServer()

    def follow(self, channel: Any) -> None:
        """Watch a further channel to the same server, one of ``grpc.aio``."""
        self._followed, self._was_ready = channel, False

    def present(self) -> KnownServer:
        """What is known of the server; nothing if the channel has lost its connection."""
        if self._server.is_known and not (
            _state(self._channel) in (_READY, None) and self._is_connected()
        ):
            self.lose()
        return self._server

    def _is_connected(self) -> bool:
        """Has the further channel kept its connection? True before its first one."""
        if self._followed is None:
            return True
        ready = self._followed.get_state() is grpc.ChannelConnectivity.READY
        lost, self._was_ready = self._was_ready and not ready, ready
        return not lost

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

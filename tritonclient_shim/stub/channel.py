"""A user's channel, with v1's service on it."""

from __future__ import annotations

import time
from typing import Any, MutableMapping
from weakref import WeakKeyDictionary

from tritonclient_shim import settings
from tritonclient_shim.backends.grpc.users_channel import (
    CHANNEL,
    CallOptions,
    ChannelBackend,
    ChannelConnection,
)
from tritonclient_shim.service.control import ControlService
from tritonclient_shim.service.infer import InferService
from tritonclient_shim.session.models import KnownModels
from tritonclient_shim.session.server import ServerSession


class _Known:
    """Known facts of a channel's server."""

    def __init__(self) -> None:
        self.models: KnownModels = {}
        self.server_id = ""


#: Channel → known facts. Stubs on one channel share them; they end with the channel.
_known: MutableMapping[Any, _Known] = WeakKeyDictionary()


class _ChannelSession(ServerSession):
    """A session for one call. It asks for the server's id once per channel."""

    def __init__(self, backend: ChannelBackend, channel: UsersChannel) -> None:
        super().__init__(CHANNEL, backend=backend)
        self.settings = channel.settings
        self._known = channel.known

    def server_id(self) -> str:
        if not self._known.server_id:
            self._known.server_id = super().server_id()
        return self._known.server_id


class Calls:
    """v1's service with the arguments of one user's call."""

    def __init__(self, channel: UsersChannel, options: CallOptions) -> None:
        self.options = options
        self.backend = ChannelBackend(channel.connection, options)
        session = _ChannelSession(self.backend, channel)
        self.control = ControlService(session)
        self.infer = InferService(session, channel.known.models, batch_in_dims=True)

    def last(self) -> Any:
        """Return gRPC's object for the latest call to the v2 server, None if there was none."""
        return self.backend.bound.last


class UsersChannel:
    """A user's channel, shared by all calls of one stub."""

    def __init__(self, channel: Any) -> None:
        self.connection = ChannelConnection(channel)
        try:
            self.known = _known.setdefault(channel, _Known())
        except TypeError:  # a channel class of the user's without weak references or a hash
            self.known = _Known()
        #: Only ``models`` counts here: the connection is the user's.
        self.settings = settings.current()

    def calls(
        self,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> Calls:
        """Return the service for a call that starts now. ``timeout`` is in seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        options = CallOptions(deadline, metadata, credentials, wait_for_ready, compression)
        return Calls(self, options)

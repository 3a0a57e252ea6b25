"""A user's channel as the place where v1's service is reached."""

from __future__ import annotations

import time
from typing import Any, MutableMapping, NamedTuple
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


class Arguments(NamedTuple):
    """The arguments of a gRPC call after the request; ``timeout`` in seconds."""

    timeout: float | None = None
    metadata: Any = None
    credentials: Any = None
    wait_for_ready: bool | None = None
    compression: Any = None

    def options(self) -> CallOptions:
        """The options of a call that starts now."""
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        return CallOptions(deadline, *self[1:])


class _Known:
    """What the calls on one channel have learned of its server."""

    def __init__(self) -> None:
        self.models: KnownModels = {}
        self.server_id = ""


#: By channel, so that stubs on one channel share it; forgotten with the channel.
_known: MutableMapping[Any, _Known] = WeakKeyDictionary()


def _known_of(channel: Any) -> _Known:
    try:
        return _known.setdefault(channel, _Known())
    except TypeError:  # a channel class of the user's without weak references or a hash
        return _Known()


class _ChannelSession(ServerSession):
    """A server for the length of one call; its id is asked for once per channel."""

    def __init__(self, backend: ChannelBackend, known: _Known, chosen: settings.Settings) -> None:
        super().__init__(CHANNEL, backend=backend)
        self.settings = chosen
        self._known = known

    def server_id(self) -> str:
        if not self._known.server_id:
            self._known.server_id = super().server_id()
        return self._known.server_id


class Calls:
    """v1's service with the arguments of one call of the user's."""

    def __init__(
        self,
        connection: ChannelConnection,
        known: _Known,
        options: CallOptions,
        chosen: settings.Settings = settings.DEFAULTS,
    ) -> None:
        self.options = options
        self.backend = ChannelBackend(connection, options)
        session = _ChannelSession(self.backend, known, chosen)
        self.control = ControlService(session)
        self.infer = InferService(session, known.models, batch_in_dims=True)

    def last(self) -> Any:
        """gRPC's object for the latest call to the v2 server, None if there was none."""
        return self.backend.bound.last


class UsersChannel:
    """What all calls of one stub share."""

    def __init__(self, channel: Any) -> None:
        self._connection = ChannelConnection(channel)
        self._known = _known_of(channel)
        #: Of these only what models are counts here: the connection is the user's.
        self._settings = settings.current()

    def calls(self, arguments: Arguments) -> Calls:
        """The service for one call that starts now."""
        return Calls(self._connection, self._known, arguments.options(), self._settings)

"""One tritonclient client, and its channel, per endpoint and process (v1 §9.2)."""

from __future__ import annotations

import atexit
import os
import re
from typing import Any
from urllib.parse import quote

import grpc
import tritonclient.grpc

from tritonclient_shim.backends.grpc_errors import NO_SUCH_NAME, StatusCode, transport_fault
from tritonclient_shim.backends.grpc_framing import LIMIT
from tritonclient_shim.errors import TransportFault
from tritonclient_shim.model import Endpoint

_SERVICE = "/inference.GRPCInferenceService/"
_OPTIONS = [
    ("grpc.max_send_message_length", LIMIT),
    ("grpc.max_receive_message_length", LIMIT),
    # Back-off belongs to a pool of sockets; with a pool of its own, a new channel has none.
    ("grpc.use_local_subchannel_pool", 1),
]
_HOST_PORT = re.compile(r"(?:dns:(?:///)?)?(\[[0-9A-Fa-f:.%]+\]|[^\s\[\]:/?#@%]+):([0-9]{1,5})")


class Connection:
    """The objects behind all calls to one endpoint. Closed when nothing refers to it.

    ``client`` is the tritonclient client; ``infer`` and ``stream`` take and give serialised
    messages.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        target = target_of(endpoint.address)
        self.client: Any = tritonclient.grpc.InferenceServerClient(
            target, ssl=endpoint.secure, channel_args=_OPTIONS
        )
        self.channel = getattr(self.client, "_channel", None) or _own_channel(
            target, endpoint.secure
        )
        self.infer = self.channel.unary_unary(_SERVICE + "ModelInfer")
        self.stream = self.channel.stream_stream(_SERVICE + "ModelStreamInfer")

    def method(self, name: str, request: Any, response: Any) -> Any:
        """The call object of a unary method, for protobuf messages of the given classes."""
        serialize, parse = request.SerializeToString, response.FromString
        return self.channel.unary_unary(_SERVICE + name, serialize, parse)


#: Emptied at exit only: v1 kept a channel per url for the life of the process (v1 §9.2). After a
#: fork the child finds no entry of its own and leaves its parent's sockets alone.
_shared: dict[tuple[Endpoint, int], Connection] = {}


def connect(endpoint: Endpoint) -> Connection:
    """The shared connection of this process; TransportFault for an impossible address."""
    key = (endpoint, os.getpid())
    found = _shared.get(key)
    # setdefault decides between threads that come at once; the loser's never connects
    return found or _shared.setdefault(key, Connection(endpoint))


@atexit.register
def _release() -> None:
    """Let go while the interpreter is whole; later, tritonclient's clean-up would fail."""
    for endpoint, process in list(_shared):
        if process == os.getpid():
            _shared.pop((endpoint, process), None)


def discard(endpoint: Endpoint, failed: Connection) -> None:
    """Let the next call make a new connection; calls under way keep theirs."""
    key = (endpoint, os.getpid())
    if _shared.get(key) is failed:
        _shared.pop(key, None)


def target_of(address: str) -> str:
    """``host:port`` → an unambiguous gRPC target.

    gRPC itself would supply a missing port and reduce a large one modulo 2^16, and so contact
    somebody else (v2-mapping §6); such addresses fail here as unresolvable names, like v1's.
    """
    if address.startswith("unix:"):
        return address
    match = _HOST_PORT.fullmatch(address)
    if match is None or not 0 < int(match.group(2)) < 2**16:
        raise unresolvable()
    return f"dns:///{quote(match.group(1), safe=':')}:{int(match.group(2))}"


def unresolvable() -> TransportFault:
    """v1's fault for a name that is none (v1 §3.1)."""
    return transport_fault(StatusCode.UNAVAILABLE, NO_SUCH_NAME)


def _own_channel(target: str, secure: bool) -> Any:
    """For a tritonclient that keeps its channel elsewhere: a second one, same options."""
    if secure:
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(), options=_OPTIONS)
    return grpc.insecure_channel(target, options=_OPTIONS)

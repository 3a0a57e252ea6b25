"""Readers of the gateway's options: text, or a value of a TOML file → what the options hold.

A reader raises ValueError with what was expected as its text.
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

from tritonclient_shim.core.addresses import join_port, split_port
from tritonclient_shim.core.model import GRPC, HTTP
from tritonclient_shim.gateway.options.releases import RELEASES
from tritonclient_shim.settings.values import HEADER_NAME, grpc_metadata, number

_NO_FORWARDING = ("content-", "transfer-", "grpc-", "nv-", "inference-header-")
_HOP_BY_HOP = frozenset(
    ("accept", "accept-encoding", "connection", "expect", "host", "keep-alive", "te", "trailer")
    + ("upgrade", "user-agent")
)


class ListenAddress(NamedTuple):
    """An address to listen on; the system chooses the port if it is 0."""

    host: str
    port: int

    def __str__(self) -> str:
        return join_port(self.host, self.port)


def address(value: Any) -> ListenAddress:
    """``HOST:PORT``; without a host it is the loopback address."""
    text = str(value)
    host, port = split_port(text)
    if ":" not in text or not port.isdigit() or int(port) > 65535:
        raise ValueError("HOST:PORT")
    return ListenAddress(host or "127.0.0.1", int(port))


def grpc_url(value: Any) -> Any:
    """Triton's gRPC address."""
    return _endpoint(value, GRPC)


def http_url(value: Any) -> Any:
    """Triton's HTTP address."""
    return _endpoint(value, HTTP)


def _endpoint(value: Any, protocol: str) -> Any:
    from tritonclient_shim.translate.endpoint import parse_url  # which not every command needs

    return parse_url(text(value), protocol)


def text(value: Any) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def positive(value: Any) -> int:
    """A whole number from 1 on."""
    if isinstance(value, bool) or not str(value).isdecimal() or not int(value):
        raise ValueError("a positive number")
    return int(value)


def seconds(value: Any) -> float:
    """A time of more than 0 seconds."""
    found = number(value)
    if not 0 < found < math.inf:
        raise ValueError("a positive number of seconds")
    return found


def seconds_or_none(value: Any) -> float:
    """A time that may be 0."""
    found = number(value)
    if not 0 <= found < math.inf:
        raise ValueError("a number of seconds from 0 on")
    return found


def release(value: Any) -> str:
    """A release of v1's server."""
    if value not in RELEASES:
        raise ValueError(", ".join(RELEASES))
    return str(value)


def log_format(value: Any) -> str:
    """The format of the access log, ``off`` for none."""
    if value not in ("text", "json", "off"):
        raise ValueError("text, json or off")
    return str(value)


def file(value: Any) -> str:
    """The path of a file that can be read, as an absolute one."""
    path = os.path.abspath(os.path.expanduser(value)) if isinstance(value, str) else ""
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise ValueError("the path of a file that exists and may be read")
    return path


def headers_file(value: Any) -> tuple[tuple[str, str], ...]:
    """The path of a file of headers → the headers. They are secret, and in no message."""
    try:
        with open(file(value), encoding="ascii") as content:
            lines = [line for line in content if not line.lstrip().startswith("#")]
        return tuple((name.lower(), text) for name, text in grpc_metadata("".join(lines)))
    except (OSError, ValueError):
        raise ValueError(
            "the path of a file with a line NAME: VALUE for each header, in ASCII, where the "
            "name is one of a header, and of gRPC's metadata"
        ) from None


def header_names(value: Any) -> tuple[str, ...]:
    """Names of headers that may be handed on: a list, or text with commas; ``none`` for none."""
    words = value if isinstance(value, (list, tuple)) else str(value).split(",")
    names = [str(word).strip().lower() for word in words]
    if names == ["none"]:
        return ()
    for name in names:
        taken = name in _HOP_BY_HOP or name.startswith(_NO_FORWARDING)
        if taken or not HEADER_NAME.fullmatch(name):
            raise ValueError(
                "names of headers such as x-request-id, or none; those that belong to one "
                f"connection or to the form of a message cannot be handed on, and {name!r} is one"
                if taken
                else "names of headers such as x-request-id, with commas between, or none"
            )
    return tuple(dict.fromkeys(names))

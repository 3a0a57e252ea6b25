"""``host:port/prefix`` and the user's headers → the fixed parts of every request head."""

from __future__ import annotations

import re
from http.client import InvalidURL, UnknownProtocol
from typing import Any, Mapping, NamedTuple, Sequence
from urllib.parse import quote

from tritonclient_shim.core import addresses
from tritonclient_shim.settings.values import HEADER_NAME, HEADER_VALUE

_HOST = re.compile(r"\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[^\[?#]+")
_UNUSABLE = re.compile(r"[\x00-\x20\x7f\\^`{|}<>\"]")
_QUERY = re.compile(r"[?#]")

#: Headers that describe the message itself: the user's would break it (docs/v2-mapping.md §9).
_OURS = frozenset(("content-length", "transfer-encoding", "inference-header-content-length"))


class Location(NamedTuple):
    """A parsed address; ``prefix`` has no '/' at its end."""

    host: str  # without brackets
    port: int
    host_header: str
    prefix: str
    authorization: str  # "" without user-info


def parse(address: str, secure: bool) -> Location:
    """Endpoint address → Location; InvalidURL where libcurl refused one
    (docs/v1-behaviour.md §3.1).
    """
    if "://" in address:
        raise UnknownProtocol(address)
    found = None if _UNUSABLE.search(address) else addresses.parse(address)
    if found is None or not _HOST.fullmatch(found.host) or _QUERY.search(found.prefix):
        raise InvalidURL(f"{address!r} is not host:port, optionally followed by /prefix")
    host = found.host.encode("ascii" if found.host.isascii() else "idna").decode()
    port = int(found.port or (443 if secure else 80))
    if not 0 < port < 65536:
        raise InvalidURL(f"port {port} of {address!r} is not in 1..65535")
    prefix = quote(found.prefix, safe="/%:@!$&'()*+,;=~").rstrip("/")
    shown = f"{host}:{port}" if found.port else host
    authorization = addresses.basic_authorization(found.user)
    return Location(host.strip("[]"), port, shown, prefix, authorization)


def usable_headers(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The user's (name, value) pairs → what is sent of them, sorted by name
    (docs/v1-behaviour.md §6.6).

    The last of equal names wins, names in the server's eyes equal included; a header without
    value and one that describes the message itself are left out. ValueError for a name or
    value that no HTTP message can carry.
    """
    chosen: dict[str, tuple[str, str]] = {}
    for name, value in headers:
        if not HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an HTTP header")
        if not HEADER_VALUE.fullmatch(value):
            raise ValueError(f"the value of HTTP header {name!r} has control characters: {value!r}")
        chosen[name.lower()] = (name, value)
    kept = (pair for key, pair in chosen.items() if key not in _OURS and pair[1])
    return dict(sorted(kept))


def merged(defaults: Mapping[str, Any], headers: Mapping[str, Any]) -> dict[str, Any]:
    """Default headers, overridden by those of the same name in whatever case."""
    given = {name.lower() for name in headers}
    rest = {name: value for name, value in defaults.items() if name.lower() not in given}
    return {**rest, **headers}


def head_lines(headers: Mapping[str, Any]) -> bytes:
    """Headers → their lines in a request head; those without value are left out."""
    lines = (f"{name}: {value}\r\n" for name, value in headers.items() if value or value == 0)
    return "".join(lines).encode()

"""``host:port/prefix`` and the user's headers → the fixed parts of every request head."""

from __future__ import annotations

import re
from base64 import b64encode
from http.client import InvalidURL, UnknownProtocol
from typing import Any, Mapping, NamedTuple, Sequence
from urllib.parse import quote, unquote_to_bytes

_ADDRESS = re.compile(
    r"""(?: (?P<user> [^@/]* ) @ )?
        (?P<host> \[ [0-9A-Fa-f:.]+ (?: %\w+ )? \] | [^:/?\#@\[\]]+ )
        (?: : (?P<port> [0-9]* ) )?
        (?P<prefix> / [^?\#]* )?""",
    re.VERBOSE,
)
_UNUSABLE = re.compile(r"[\x00-\x20\x7f\\^`{|}<>\"]")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")

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
    found = None if _UNUSABLE.search(address) else _ADDRESS.fullmatch(address)
    if found is None:
        raise InvalidURL(f"{address!r} is not host:port, optionally followed by /prefix")
    host = found["host"].encode("idna" if not found["host"].isascii() else "ascii").decode()
    port = int(found["port"] or (443 if secure else 80))
    if not 0 < port < 65536:
        raise InvalidURL(f"port {port} of {address!r} is not in 1..65535")
    prefix = quote(found["prefix"] or "", safe="/%:@!$&'()*+,;=~").rstrip("/")
    shown = f"{host}:{port}" if found["port"] else host
    return Location(host.strip("[]"), port, shown, prefix, _basic(found["user"]))


def _basic(user: str | None) -> str:
    return f"Basic {b64encode(unquote_to_bytes(user)).decode()}" if user else ""


def usable_headers(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The user's (name, value) pairs → what is sent of them, sorted by name
    (docs/v1-behaviour.md §6.6).

    The last of equal names wins, names in the server's eyes equal included; a header without
    value and one that describes the message itself are left out. ValueError for a name or
    value that no HTTP message can carry.
    """
    chosen: dict[str, tuple[str, str]] = {}
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an HTTP header")
        if not _HEADER_VALUE.fullmatch(value):
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

"""The parts of addresses of servers and proxies: ``[scheme://][user@]host[:port][/prefix]``.

The standard library's ``urlsplit`` reads ``host:80`` as a scheme, drops line breaks silently, and
refuses other texts in each version of Python.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

_ADDRESS = re.compile(
    r"""(?: (?P<scheme> [a-z0-9]+ ) :// )?
        (?: (?P<user> [^@/]* ) @ )?
        (?P<host> \[ [^@/\[\]]+ \] | [^:@/\[\]]+ )
        (?: : (?P<port> [0-9]* ) )?
        (?P<prefix> /.* )?""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL | re.ASCII,
)
_SCHEME = re.compile(r"(?:http|grpc)(s?)://", re.IGNORECASE | re.ASCII)


class Address(NamedTuple):
    """The parts of an address as they are written; None for a part that is not there."""

    scheme: str | None
    user: str | None
    host: str  # an IPv6 address with its brackets
    port: str | None  # digits; '' after a colon that nothing follows
    prefix: str  # '' or from its '/' on


def parse(text: str) -> Address | None:
    """Address → its parts; None for a text of another form.

    The backends and the settings decide which hosts, ports and prefixes they can use.
    """
    match = _ADDRESS.fullmatch(text)
    return None if match is None else Address(**{**match.groupdict(), "prefix": match[5] or ""})


def without_scheme(text: str) -> tuple[str, bool | None]:
    """Text that may begin with a scheme of HTTP or gRPC → (the rest, True if the scheme means TLS).

    Without such a scheme the second is None.
    """
    scheme = _SCHEME.match(text)
    return (text, None) if scheme is None else (text[scheme.end() :], bool(scheme[1]))


def without_user(text: str) -> str:
    """Return an address as messages show it: without user and password."""
    scheme, sign, rest = text.rpartition("://")
    return scheme + sign + rest.rpartition("@")[2]


def split_port(text: str) -> tuple[str, str]:
    """``host:port`` → (host without brackets, port), whatever they are; ('', text) without ':'."""
    host, _, port = text.rpartition(":")
    return host.strip("[]"), port


def join_port(host: str, port: int) -> str:
    """Host, without brackets, and the port → ``host:port``."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def basic_authorization(user: str | None) -> str:
    """User part of an address → the value of its header; '' without a user."""
    return f"Basic {b64encode(unquote_to_bytes(user)).decode()}" if user else ""

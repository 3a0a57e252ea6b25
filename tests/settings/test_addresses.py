"""Parsed addresses, and the reaction of each of their readers to odd addresses."""

from __future__ import annotations

from http.client import HTTPException
from typing import Any

import pytest

from tritonclient_shim.backends.grpc.channel import target_of
from tritonclient_shim.backends.http.connector import parse
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.settings import SettingsError, addresses, proxy_for

#: Address | HTTP: host, port, Host header, prefix, Authorization | gRPC: target
#: | proxy: host, port, Proxy-Authorization. "-" is a refusal.
TABLE = r"""
'' | - | - | ''
h | h 80 h '' '' | - | h 1080 ''
h:1 | h 1 h:1 '' '' | dns:///h:1 | h 1 ''
h: | h 80 h '' '' | - | -
:1 | - | - | -
h:1/pre/fix/ | h 1 h:1 /pre/fix '' | dns:///h:1 | -
h/pre%20fix | h 80 h /pre%20fix '' | - | -
h/\xe9 | h 80 h /%C3%A9 '' | - | -
[::1]:8000 | ::1 8000 [::1]:8000 '' '' | dns:///%5B::1%5D:8000 | ::1 8000 ''
[::1] | ::1 80 [::1] '' '' | - | ::1 1080 ''
::1:8000 | - | - | -
[fe80::1%eth0]:1 | fe80::1%eth0 1 [fe80::1%eth0]:1 '' '' | - | fe80::1%eth0 1 ''
us%65r:p%40ss@h:1 | h 1 h:1 '' Basic dXNlcjpwQHNz | - | h 1 Basic dXNlcjpwQHNz
\xfc.x:1 | xn--tda.x 1 xn--tda.x:1 '' '' | dns:///%C3%BC.x:1 | \xfc.x 1 ''
user@h:1 | h 1 h:1 '' Basic dXNlcg== | - | h 1 Basic dXNlcg==
@h:1 | h 1 h:1 '' '' | - | h 1 ''
u:p@ | - | - | -
a@b@c:1 | - | - | -
u/v@h:1 | u 80 u /v@h:1 '' | - | -
u?v@h:1 | h 1 h:1 '' Basic dT92 | - | h 1 Basic dT92
http://h:1 | - | - | h 1 ''
HTTP://h:1 | - | - | h 1 ''
grpc://h:1 | - | - | -
GRPCS://h:1/x/ | - | - | -
ftp://h:1 | - | - | -
socks5://u:secret@p:1 | - | - | -
http://u:p%40@p:1/ | - | - | p 1 Basic dTpwQA==
http://p | - | - | p 1080 ''
http://p:3128/x | - | - | -
http:p:1 | - | - | -
http:// | - | - | -
a b:1 | - | - | a b 1 ''
h:1\n | - | - | -
h:0 | - | - | h 0 ''
h:65536 | - | - | h 65536 ''
h:00080 | h 80 h:80 '' '' | dns:///h:80 | h 80 ''
h:\u0661 | - | - | -
h:1:2 | - | - | -
h,i:1 | h,i 1 h,i:1 '' '' | - | h,i 1 ''
h:1,i:2 | - | - | -
h%41:1 | h%41 1 h%41:1 '' '' | - | h%41 1 ''
h?x:1 | - | - | h?x 1 ''
h:1/x?y | - | dns:///h:1 | -
h:1/a://b | - | dns:///h:1 | -
[ | - | - | -
[] | - | - | -
[a]:1 | a 1 [a]:1 '' '' | dns:///%5Ba%5D:1 | a 1 ''
[::1]x:1 | - | - | -
[::1%]:1 | - | dns:///%5B::1%25%5D:1 | ::1% 1 ''
[::1]@h:1 | h 1 h:1 '' Basic Wzo6MV0= | - | h 1 Basic Wzo6MV0=
u@[::1]:1/p | ::1 1 [::1]:1 /p Basic dQ== | - | -
dns:h:1 | - | dns:///h:1 | -
dns:///h:1 | - | dns:///h:1 | -
dns:1 | dns 1 dns:1 '' '' | dns:///dns:1 | dns 1 ''
dns:///1 | - | - | -
dns://h:1 | - | - | -
dns://8.8.8.8/h:1 | - | - | -
dns:[::1]:5 | - | dns:///%5B::1%5D:5 | -
unix:/tmp/s | unix 80 unix /tmp/s '' | unix:/tmp/s | -
unix-abstract:x | - | - | -
ipv6:[::1]:5 | - | ipv6:[::1]:5 | -
vsock:1:2 | - | - | -
.:1 | . 1 .:1 '' '' | dns:///.:1 | . 1 ''
http://h:1/x y | - | - | -
http://user:pa ss@p:1 | - | - | p 1 Basic dXNlcjpwYSBzcw==
1http://p:1 | - | - | -
http://[::1]:3128 | - | - | ::1 3128 ''
http://[::1%lo]:3128 | - | - | ::1%lo 3128 ''
//p:1 | - | - | -
h:1/%zz | h 1 h:1 /%zz '' | dns:///h:1 | -
h:1// | h 1 h:1 '' '' | dns:///h:1 | -
h// | h 80 h '' '' | - | -
h:80:/x | - | - | -
h: 1 | - | - | -
http://h:1@x:2 | - | - | x 2 Basic aDox
"""


def unescaped(text: str) -> str:
    """Return a cell of the table as its text."""
    return "" if text == "''" else text.encode("ascii").decode("unicode_escape")


ROWS = [tuple(map(unescaped, line.split(" | "))) for line in TABLE.strip().splitlines()]


def shown(parts: Any) -> str:
    """Return a reader's result as the table has it."""
    return " ".join(str(part) or "''" for part in parts)


def http(text: str) -> str:
    """Return the HTTP backend."""
    return shown(parse(text, secure=False))


def through_proxy(text: str) -> str:
    """Return the proxy of a variable of the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("http_proxy", text)
        result = proxy_for("host", False)
    return shown(result[:3] if result else ())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row[0]))
def test_readers_of_addresses(row: tuple[str, ...]) -> None:
    """Each reader accepts the table's addresses with its results, and refuses all others."""
    readers = (http, target_of, through_proxy)
    refusals: tuple[Any, ...] = ((HTTPException, UnicodeError), TransportError, SettingsError)
    for reader, refusal, expected in zip(readers, refusals, row[1:]):
        if expected == "-":
            with pytest.raises(refusal):
                reader(row[0])
        else:
            assert reader(row[0]) == expected


def test_parts_are_as_written() -> None:
    """Address parts are not decoded, and a missing part is None."""
    assert addresses.parse("HTTP://u%41:p@[::1]:080/a?b") == (
        *("HTTP", "u%41:p", "[::1]", "080", "/a?b"),
    )
    assert addresses.parse("h") == (None, None, "h", None, "")
    assert addresses.parse("h:") == (None, None, "h", "", "")


@pytest.mark.parametrize(("host", "joined"), [("h", "h:1"), ("::1", "[::1]:1")])
def test_port_joined_and_split(host: str, joined: str) -> None:
    """An IPv6 address has brackets exactly beside a port."""
    assert addresses.join_port(host, 1) == joined
    assert addresses.split_port(joined) == (host, "1")


@pytest.mark.parametrize("address", ["http://u:p@h:1/x", "u:p@h:1/x", "u:p@ss@h:1/x", "h:1/x"])
def test_shown_without_password(address: str) -> None:
    """A printed address has neither user nor password."""
    assert addresses.without_user(address).endswith("h:1/x")
    assert "p@" not in addresses.without_user(address)

"""Which proxy leads to a server over HTTP, by v1's rules, which were libcurl's
(docs/v1-behaviour.md §10.1).

gRPC has rules of its own for the same variables.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from tritonclient_shim.core.addresses import basic_authorization, parse_proxy
from tritonclient_shim.settings.fields import Settings, SettingsError

#: v1 read the lower-case names only; no upper-case ones.
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Proxy(NamedTuple):
    """An HTTP proxy; ``authorization`` is the value of its header, '' for none."""

    host: str
    port: int
    authorization: str = ""


def proxy_for(settings: Settings, host: str, secure: bool) -> Proxy | None:
    """The proxy on the way to ``host``; SettingsError for a kind of proxy that is not spoken."""
    if settings.proxy == "off":
        return None
    if settings.proxy != "environment":
        return _parse(settings.proxy, "the setting proxy")
    name = "https_proxy" if secure else "http_proxy"
    for variable in (name, "all_proxy"):
        text = os.environ.get(variable, "")
        if text and not _excepted(host, os.environ.get("no_proxy", "")):
            return _parse(text, variable)
    return None


def _excepted(host: str, exceptions: str) -> bool:
    """Does ``no_proxy`` name the host, a domain above it, or everything?"""
    wanted = host.strip("[]").lower().rstrip(".")
    for entry in re.split(r"[,\s]+", exceptions.lower()):
        name = entry.strip("[]").strip(".")
        if entry == "*" or (name and (wanted == name or wanted.endswith("." + name))):
            return True
    return False


def _parse(text: str, source: str) -> Proxy:
    found = parse_proxy(text)
    if found is None:
        shown = re.sub(r"//[^@/]*@", "//…@", text)
        raise SettingsError(
            f"{source} is {shown!r}; expected http://host:port, the only kind of proxy that is "
            "spoken here. Name the server in no_proxy or set TRITON_SHIM_PROXY=off to go without"
        )
    port = int(found.port or 1080)
    return Proxy(found.host.strip("[]"), port, basic_authorization(found.user))

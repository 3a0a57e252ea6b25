"""Names and messages as servers spell them, and as users do. Both backends follow it.

A v2 server takes a region name from the URL without decoding it, so over HTTP a name with
anything but letters, digits and ``-._~`` can only be stored in percent-encoded form
(docs/v2-mapping.md §8). To let both protocols see the same regions, gRPC stores that form too.
"""

from __future__ import annotations

from typing import Iterable
from urllib.parse import quote, unquote

from tritonclient_shim.core.server_sentences import without_request_id


def wire_region_name(name: str) -> str:
    """The user's region name → the name under which servers store the region."""
    return quote(name, safe="")


def user_region_name(name: str) -> str:
    """The stored region name → the user's name; the inverse of :func:`wire_region_name`."""
    return unquote(name)


def user_message(text: str, names: Iterable[str]) -> str:
    """Server message → the same with the users' ``names`` where it has encoded ones."""
    for name in names:
        wire = quote(name, safe="")
        if wire != name:
            text = text.replace(f"'{wire}'", f"'{name}'")
    return without_request_id(text)

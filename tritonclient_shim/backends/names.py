"""Names and messages as servers spell them, and as users do. Both backends follow it.

A v2 server takes a region name from the URL without decoding it, so over HTTP a name with
anything but letters, digits and ``-._~`` can only be stored in percent-encoded form
(docs/v2-mapping.md §8). To let both protocols see the same regions, gRPC stores that form too.
"""

from __future__ import annotations

import re
from typing import Iterable
from urllib.parse import quote

from tritonclient_shim.core.errors import Unsendable
from tritonclient_shim.servers.triton_sentences import without_request_id

_SEPARATORS = re.compile(r"[/\\]")
_STEPS = frozenset({".", ".."})


def percent_encoded(name: str) -> str:
    """User's name → its percent-encoded form, under which servers store a region."""
    return quote(name, safe="")


def path_part(name: str) -> str:
    """Name → the part of a path that stands for it; Unsendable where there is none.

    What looks like a step up in the tree of paths is carried out by proxies, also when it is
    encoded: ``region/../unregister`` is ``unregister``, which forgets every region.
    """
    if not _STEPS.isdisjoint(_SEPARATORS.split(name)):
        raise Unsendable(
            f"HTTP client failed: the name {name!r} cannot be sent over HTTP, where '.' and '..' "
            "are steps in a path; expected a name without such parts: use gRPC, or another name"
        )
    return percent_encoded(name)


def user_message(text: str, names: Iterable[str]) -> str:
    """Server's message → the same with the users' ``names`` where it has encoded ones."""
    for name in names:
        stored = percent_encoded(name)
        if stored != name:
            text = text.replace(f"'{stored}'", f"'{name}'")
    return without_request_id(text)

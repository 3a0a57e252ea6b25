"""Rules that replace server addresses written into scripts."""

from __future__ import annotations

import re
from typing import Any, Mapping

from tritonclient_shim.core.addresses import without_scheme

_EXPECTED = (
    "old=new, several with commas between; old is host:port or has * for any text, "
    "and each * of new stands for what the * of old found"
)


def rules(value: Any) -> Any:
    """A mapping, or ``old=new, …`` → rules, first match first; ValueError with what is expected."""
    if isinstance(value, str):
        parts = [part.partition("=") for part in value.split(",") if part.strip()]
        value = [(old, new) for old, _, new in parts]
    try:
        items = list(value.items() if isinstance(value, Mapping) else value)
        found = tuple((str.strip(old), str.strip(new)) for old, new in items)
    except (TypeError, ValueError):
        raise ValueError(_EXPECTED) from None
    for old, new in found:
        if not old or not new or new.count("*") > old.count("*") or "://" in old:
            raise ValueError(_EXPECTED)
    return found


def rewritten(table: tuple[tuple[str, str], ...], address: str) -> tuple[str, bool | None]:
    """``host:port/prefix`` → the address to use instead, and whether its rule demands TLS.

    The host and port are compared without regard to case, the path prefix is kept; None: the
    rule does not say. A ``grpc://`` or ``http://`` in a rule means no TLS, one with an s TLS.
    """
    place, slash, prefix = address.partition("/") if "://" not in address else (address, "", "")
    for old, new in table:
        match = _pattern(old).fullmatch(place)
        if match is not None:
            return _filled(new, match.groups(), slash + prefix)
    return address, None


def _pattern(old: str) -> re.Pattern[str]:
    return re.compile("(.*)".join(map(re.escape, old.split("*"))), re.IGNORECASE)


def _filled(new: str, found: tuple[str, ...], prefix: str) -> tuple[str, bool | None]:
    target, secure = without_scheme(new)
    for text in found:
        target = target.replace("*", text, 1)
    return target.rstrip("/") + prefix, secure

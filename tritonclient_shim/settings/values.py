"""Readers of settings: the text of a variable, or a Python value → the value of the setting.

A reader raises ValueError whose text says what was expected. It is never called with None.
"""

from __future__ import annotations

import json
import math
import os
import re
from typing import Any, Callable, Mapping

from tritonclient_shim.settings.addresses import without_scheme

Reader = Callable[[Any], Any]

#: Seconds for the reply to a probe of a connection, unless a setting says otherwise.
PROBE_WAIT = 20.0
_NONE = frozenset({"", "none", "off"})
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")
_METADATA_NAME = re.compile(r"(?!grpc-)[0-9a-z_.-]+(?<!-bin)")
_METADATA_VALUE = re.compile(r"[\x20-\x7e]*")


def tls(value: Any) -> str:
    """Return ``auto``, ``on`` or ``off``, given in upper or lower case."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in ("auto", "on", "off"):
        raise ValueError("one of: auto (by the scheme of the url), on (always), off (never)")
    return word


def seconds(value: Any) -> float | None:
    """Number, or its text → seconds; ``none`` → None, which is no limit."""
    if isinstance(value, str) and value.strip().lower() in _NONE:
        return None
    limit = number(value)
    if not 0.001 <= limit <= 2_000_000:  # what a C int of milliseconds holds
        raise ValueError("a number of seconds from 0.001 to 2000000, or none")
    return limit


def probe_wait(value: Any) -> float:
    """Number, or its text → seconds; ``none`` → the default, because no probe waits for ever."""
    return seconds(value) or PROBE_WAIT


def number(value: Any) -> float:
    """Number, or its text → the number; NaN for anything else."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def existing_file(value: Any) -> str:
    """Path of a readable file → its absolute path."""
    try:
        path = os.path.abspath(os.path.expanduser(os.fspath(value)))
        if isinstance(path, str) and os.path.isfile(path) and os.access(path, os.R_OK):
            return path
    except TypeError:
        pass
    raise ValueError("the path of a PEM file that exists and may be read")


def http_headers(value: Any) -> Any:
    """Headers → sorted (name, value) pairs."""
    return _pairs(value, HEADER_NAME, HEADER_VALUE)


def grpc_metadata(value: Any) -> Any:
    """Metadata → sorted (lower-case name, value) pairs; text only."""
    return _pairs(value, _METADATA_NAME, _METADATA_VALUE, str.lower)


def _pairs(
    value: Any, name: Any, content: Any, spelt: Callable[[str], str] = str
) -> tuple[tuple[str, str], ...]:
    pairs = {}
    for key, text in _items(value, "\n", ":"):
        if not (isinstance(key, str) and isinstance(text, str)):
            raise ValueError("names and values that are text")
        if not name.fullmatch(spelt(key)) or not content.fullmatch(text):
            raise ValueError(f"names and values without special characters; {key!r} cannot be sent")
        pairs[spelt(key)] = text
    return tuple(sorted(pairs.items()))


def channel_arguments(value: Any) -> Any:
    """gRPC channel arguments → sorted (name, int or str) pairs."""
    arguments = {}
    for key, content in _items(value, ",", "="):
        if not isinstance(key, str) or not isinstance(content, (int, str)):
            raise ValueError("names of channel arguments with values that are int or str")
        arguments[key] = _number_or_text(content)
    return tuple(sorted(arguments.items()))


def _number_or_text(content: int | str) -> int | str:
    if isinstance(content, str) and not re.fullmatch(r"-?[0-9]{1,20}", content):
        return content
    if not -(2**31) <= int(content) < 2**31:
        raise ValueError("numbers of channel arguments from -2147483648 to 2147483647")
    return int(content)


def _items(value: Any, separator: str, between: str) -> list[tuple[Any, Any]]:
    """Mapping, pairs, a JSON object or ``name<between>value<separator>…`` → pairs."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"a JSON object ({error})") from None
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(separator)]
        return [_split(part, between, separator) for part in parts if part]
    try:
        return [*value.items()] if isinstance(value, Mapping) else [(k, v) for k, v in value]
    except (TypeError, ValueError):
        raise ValueError("a mapping, or pairs of a name and a value") from None


def _split(part: str, between: str, separator: str) -> tuple[str, str]:
    name, separated, content = part.partition(between)
    if not separated or not name.strip():
        joint = {"\n": "line breaks", ",": "commas"}[separator]
        raise ValueError(f"name{between}value, several with {joint} between, or a JSON object")
    return name.strip(), content.strip()


_EXPECTED = (
    "old=new, several with commas between; old is host:port or has * for any text, "
    "and each * of new stands for what the * of old found"
)


def rules(value: Any) -> Any:
    """Mapping, or ``old=new, …`` → rules, first match first."""
    try:
        rewrites = tuple((str.strip(old), str.strip(new)) for old, new in _items(value, ",", "="))
    except (TypeError, ValueError):
        raise ValueError(_EXPECTED) from None
    for old, new in rewrites:
        if not old or not new or new.count("*") > old.count("*") or "://" in old:
            raise ValueError(_EXPECTED)
    return rewrites


def rewritten(table: tuple[tuple[str, str], ...], address: str) -> tuple[str, bool | None]:
    """``host:port/prefix`` → the address to use instead, and whether its rule demands TLS.

    The host and port are compared without regard to case, the path prefix is kept; None: the
    rule does not say. A ``grpc://`` or ``http://`` in a rule means no TLS, one with an s TLS.
    """
    place, slash, prefix = address.partition("/") if "://" not in address else (address, "", "")
    for old, new in table:
        pattern = "(.*)".join(map(re.escape, old.split("*")))
        match = re.fullmatch(pattern, place, re.IGNORECASE)
        if match is not None:
            return _filled(new, match.groups(), slash + prefix)
    return address, None


def _filled(new: str, texts: tuple[str, ...], prefix: str) -> tuple[str, bool | None]:
    target, secure = without_scheme(new)
    for text in texts:
        target = target.replace("*", text, 1)
    return target.rstrip("/") + prefix, secure

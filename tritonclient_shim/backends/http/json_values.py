"""Members of the JSON objects that a v2 server answers with, checked before they are used.

An optional member may be missing or null. ForeignFault for what is no answer of a v2 server at
all, UnreadableFault for a member that is not what the protocol says.
"""

from __future__ import annotations

import re
from typing import Any

from tritonclient_shim.core.errors import ForeignFault, UnreadableFault
from tritonclient_shim.core.reading import shown

#: The numbers of v2 are unsigned and have 64 bits at most.
_LARGEST = 2**64 - 1
_DIGITS = re.compile(r"[0-9]{1,20}")

_REQUIRED: Any = object()


def v2_object(answer: Any, name: str) -> dict[str, Any]:
    """What has to be a JSON object with a member of this name, as every answer of its kind."""
    if type(answer) is not dict or name not in answer:
        raise ForeignFault(f"not the answer of a v2 server: {shown(answer)}")
    return answer


def v2_list(answer: Any) -> list[Any]:
    """What has to be a JSON list of objects; ``{}`` would pass for no rows."""
    if type(answer) is not list or not all(type(row) is dict for row in answer):
        raise ForeignFault(f"not the answer of a v2 server: {shown(answer)}")
    return answer


def text(record: Any, name: str, default: Any = _REQUIRED) -> str:
    """A member that is a string."""
    found: str = _member(record, name, str, "a string", default)
    return found


def number(record: Any, name: str, default: Any = _REQUIRED) -> int:
    """A member that is a count, a size or a time: an integer from 0 to 2**64 - 1.

    A server that makes its JSON of protobuf messages writes such numbers as strings.
    """
    found = record.get(name) if type(record) is dict else None
    if type(found) is str and _DIGITS.fullmatch(found):
        record = {name: int(found)}
    value: int = _member(record, name, int, "a non-negative integer", default)
    if not 0 <= value <= _LARGEST:
        raise _odd(name, value, "an integer from 0 to 2**64 - 1")
    return value


def flag(record: Any, name: str, default: Any = _REQUIRED) -> bool:
    """A member that is true or false."""
    found: bool = _member(record, name, bool, "true or false", default)
    return found


def record_of(record: Any, name: str, default: Any = _REQUIRED) -> dict[str, Any]:
    """A member that is an object."""
    found: dict[str, Any] = _member(record, name, dict, "an object", default)
    return found


def list_of(record: Any, name: str, default: Any = _REQUIRED) -> list[Any]:
    """A member that is a list."""
    found: list[Any] = _member(record, name, list, "a list", default)
    return found


def version(record: Any, name: str) -> str:
    """A model version: a string, '' without one; some servers send a number."""
    found = record.get(name) if type(record) is dict else None
    return str(found) if type(found) is int else text(record, name, "")


def _member(record: Any, name: str, kind: type, expected: str, default: Any) -> Any:
    if type(record) is not dict:
        raise UnreadableFault(f"there is {shown(record)}", f"an object with a member {name!r}")
    found = record.get(name)
    if found is None and default is not _REQUIRED:
        return default
    if type(found) is not kind:
        raise _odd(name, found, expected)
    return found


def _odd(name: str, found: Any, expected: str) -> UnreadableFault:
    return UnreadableFault(f"its {name!r} is {shown(found)}", expected)

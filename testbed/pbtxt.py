"""Write plain Python data in protobuf text format, as far as model configurations need it."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping

# fields that are maps in the configuration's schema
_MAPS = ("input_map", "output_map", "parameters", "cc_model_filenames", "metric_tags")


class Name(str):
    """The name of an enum value, written without quotes."""


def render(message: Mapping[str, Any]) -> str:
    """Return a mapping of fields in text format, with a line for each field and bracket."""
    return "".join(f"{line}\n" for line in _fields(message))


def _fields(message: Mapping[str, Any]) -> Iterator[str]:
    for name, value in message.items():
        if name in _MAPS:
            for key, entry in value.items():
                yield from _field(name, {"key": key, "value": entry})
        elif isinstance(value, list):
            for item in value:
                yield from _field(name, item)
        else:
            yield from _field(name, value)


def _field(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{name}: {_scalar(value)}"
        return
    yield f"{name} {{"
    for line in _fields(value):
        yield f"  {line}"
    yield "}"


def _scalar(value: Any) -> str:
    return value if isinstance(value, Name) else json.dumps(value)

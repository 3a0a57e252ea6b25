"""Replies to control calls as records: every member is checked before it is used.

Both protocols' replies come as JSON values; a gRPC message is converted first.
"""

from __future__ import annotations

import re
from typing import Any, Sequence
from urllib.parse import unquote

from tritonclient_shim.core.errors import UnreadableReply
from tritonclient_shim.core.model import (
    BatchStatistics,
    Duration,
    IndexRow,
    ModelMetadata,
    ModelStatistics,
    RegisteredRegion,
    ServerMetadata,
    TensorMetadata,
)
from tritonclient_shim.core.reading import shown

_DIGITS = re.compile(r"-?[0-9]{1,20}")
_KINDS = {str: "a string", bool: "true or false", list: "a list", dict: "an object"}
_REQUIRED: Any = object()


class JsonFields:
    """A JSON object whose members are checked when they are read.

    A member with a default may be missing or null. Any other member that is missing, or not what
    the protocol says, raises UnreadableReply. So does a value that is no object.
    """

    def __init__(self, value: Any) -> None:
        if type(value) is not dict:
            raise UnreadableReply(f"there is {shown(value)}", "an object")
        self.value = value

    def get(self, name: str, kind: type, default: Any = _REQUIRED) -> Any:
        """Return a member of this type."""
        member = self.value.get(name)
        if member is None and default is not _REQUIRED:
            return default
        if type(member) is not kind:
            raise UnreadableReply(f"its {name!r} is {shown(member)}", _KINDS[kind])
        return member

    def text(self, name: str, default: Any = _REQUIRED) -> str:
        """Return a string."""
        text: str = self.get(name, str, default)
        return text

    def number(self, name: str, default: Any = _REQUIRED) -> int:
        """Return an integer from 0 to 2**64 - 1."""
        number = integer(self.value.get(name))
        if number is None and default is not _REQUIRED:
            number = default
        if type(number) is not int or not 0 <= number < 2**64:
            raise UnreadableReply(f"its {name!r} is {shown(number)}", "an integer below 2**64")
        return number

    def part(self, name: str) -> JsonFields:
        """Return an object; an empty one without a value."""
        return JsonFields(self.get(name, dict, {}))

    def parts(self, name: str) -> Sequence[JsonFields]:
        """Return the objects of a list."""
        return [*map(JsonFields, self.get(name, list, []))]


def integer(value: Any) -> Any:
    """Return the number; JSON that was made of protobuf messages has it as a string."""
    return int(value) if type(value) is str and _DIGITS.fullmatch(value) else value


def texts(reply: JsonFields, name: str) -> tuple[str, ...]:
    """Return the strings of a list."""
    return tuple(text for text in reply.get(name, list, []) if type(text) is str)


def version_of(row: JsonFields, name: str = "version") -> str:
    """Return a model version; some servers send a number."""
    version = row.value.get(name)
    return str(version) if type(version) is int else row.text(name, "")


def server_metadata(reply: JsonFields) -> ServerMetadata:
    """Read ``ServerMetadata``."""
    return ServerMetadata(reply.text("name"), reply.text("version", ""), texts(reply, "extensions"))


def model_metadata(reply: JsonFields) -> ModelMetadata:
    """Read ``ModelMetadata``."""
    inputs, outputs = (tuple(map(_tensor, reply.parts(side))) for side in ("inputs", "outputs"))
    return ModelMetadata(reply.text("name"), reply.text("platform", ""), inputs, outputs)


def _tensor(reply: JsonFields) -> TensorMetadata:
    shape = tuple(map(integer, reply.get("shape", list, [])))
    if not all(type(size) is int for size in shape):
        raise UnreadableReply(f"its 'shape' is {shown(shape)}", "a list of integers")
    return TensorMetadata(reply.text("name"), reply.text("datatype", ""), shape)


def index_rows(reply: JsonFields) -> tuple[IndexRow, ...]:
    """Read ``RepositoryIndex``."""
    return tuple(map(_index_row, reply.parts("models")))


def _index_row(row: JsonFields) -> IndexRow:
    state = row.text("state", "").rpartition(".")[2]  # MLServer writes State.READY over gRPC
    return IndexRow(row.text("name"), version_of(row), state, row.text("reason", ""))


_BATCH_DURATIONS = ("compute_input", "compute_infer", "compute_output")
_REQUEST_DURATIONS = ("success", "fail", "queue", *_BATCH_DURATIONS)


def statistics(reply: JsonFields) -> tuple[ModelStatistics, ...]:
    """Read ``ModelStatistics``."""
    return tuple(map(_model_statistics, reply.parts("model_stats")))


def _model_statistics(row: JsonFields) -> ModelStatistics:
    return ModelStatistics(
        name=row.text("name"),
        version=version_of(row),
        last_inference_ms=row.number("last_inference", 0),
        inference_count=row.number("inference_count", 0),
        execution_count=row.number("execution_count", 0),
        batches=tuple(map(_batch_statistics, row.parts("batch_stats"))),
        **_durations(row.part("inference_stats"), _REQUEST_DURATIONS),
    )


def _batch_statistics(row: JsonFields) -> BatchStatistics:
    return BatchStatistics(row.number("batch_size"), **_durations(row, _BATCH_DURATIONS))


def _durations(reply: JsonFields, names: tuple[str, ...]) -> dict[str, Duration]:
    """Return the times that a server reports, in ns, by their names."""
    parts = [(name, reply.part(name)) for name in names]
    return {
        name: Duration(part.number("count"), part.number("ns"))
        for name, part in parts
        if part.value
    }


def regions(kind: str, reply: JsonFields) -> tuple[RegisteredRegion, ...]:
    """Read ``SystemSharedMemoryStatus`` or ``CudaSharedMemoryStatus``."""
    return tuple(
        RegisteredRegion(
            unquote(row.text("name")),
            row.number("byte_size"),
            row.text("key", ""),
            row.number("offset", 0),
            row.number("device_id", 0),
            kind,
        )
        for row in reply.parts("regions")
    )

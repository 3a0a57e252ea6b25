"""Replies to control calls as records: every member is checked before it is used.

Both protocols' replies come as JSON values; a gRPC message is converted first.
"""

from __future__ import annotations

import re
from typing import Any, Sequence
from urllib.parse import unquote

from tritonclient_shim.core.errors import UnreadableReply
from tritonclient_shim.core.metadata import ModelMetadata, ServerMetadata, TensorMetadata
from tritonclient_shim.core.model import (
    BatchStatistics,
    Duration,
    IndexRow,
    ModelStatistics,
    RegisteredRegion,
)
from tritonclient_shim.core.reading import shown

#: The numbers of v2 are unsigned and have 64 bits at most.
_LARGEST = 2**64 - 1
_DIGITS = re.compile(r"-?[0-9]{1,20}")

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

    def _member(self, name: str, kind: type, expected: str, default: Any = _REQUIRED) -> Any:
        member = self.value.get(name)
        if member is None and default is not _REQUIRED:
            return default
        if type(member) is not kind:
            raise _odd(name, member, expected)
        return member

    def text(self, name: str, default: Any = _REQUIRED) -> str:
        """Return a string."""
        text: str = self._member(name, str, "a string", default)
        return text

    def version(self, name: str) -> str:
        """Return a model version; some servers send a number."""
        version = self.value.get(name)
        return str(version) if type(version) is int else self.text(name, "")

    def number(self, name: str, default: Any = _REQUIRED) -> int:
        """Return an integer from 0 to 2**64 - 1."""
        number: int = _integer(self.value.get(name))
        if type(number) is not int:
            number = self._member(name, int, "a non-negative integer", default)
        if not 0 <= number <= _LARGEST:
            raise _odd(name, number, "an integer from 0 to 2**64 - 1")
        return number

    def flag(self, name: str) -> bool:
        """Return true or false; False without a value."""
        flag: bool = self._member(name, bool, "true or false", False)
        return flag

    def list(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return a list."""
        return self._member(name, list, "a list", default)

    def sizes(self, name: str) -> tuple[int, ...]:
        """Return a list of integers."""
        sizes = [*map(_integer, self.list(name, []))]
        if not all(type(size) is int for size in sizes):
            raise _odd(name, sizes, "a list of integers")
        return tuple(sizes)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the strings of a list."""
        return tuple(text for text in self.list(name, []) if type(text) is str)

    def part(self, name: str) -> JsonFields:
        """Return an object; an empty one without a value."""
        return JsonFields(self._member(name, dict, "an object", {}))

    def parts(self, name: str) -> Sequence[JsonFields]:
        """Return the objects of a list."""
        return [*map(JsonFields, self.list(name, []))]


def _integer(value: Any) -> Any:
    """Return the number; JSON that was made of protobuf messages has it as a string."""
    return int(value) if type(value) is str and _DIGITS.fullmatch(value) else value


def _odd(name: str, member: Any, expected: str) -> UnreadableReply:
    return UnreadableReply(f"its {name!r} is {shown(member)}", expected)


def server_metadata(reply: JsonFields) -> ServerMetadata:
    """Read ``ServerMetadata``."""
    return ServerMetadata(reply.text("name"), reply.text("version", ""), reply.texts("extensions"))


def model_metadata(reply: JsonFields) -> ModelMetadata:
    """Read ``ModelMetadata``."""
    inputs, outputs = (tuple(map(_tensor, reply.parts(side))) for side in ("inputs", "outputs"))
    return ModelMetadata(reply.text("name"), reply.text("platform", ""), inputs, outputs)


def _tensor(reply: JsonFields) -> TensorMetadata:
    return TensorMetadata(reply.text("name"), reply.text("datatype", ""), reply.sizes("shape"))


def index_rows(reply: JsonFields) -> tuple[IndexRow, ...]:
    """Read ``RepositoryIndex``."""
    return tuple(map(_index_row, reply.parts("models")))


def _index_row(row: JsonFields) -> IndexRow:
    state = row.text("state", "").rpartition(".")[2]  # MLServer writes State.READY over gRPC
    return IndexRow(row.text("name"), row.version("version"), state, row.text("reason", ""))


_BATCH_DURATIONS = ("compute_input", "compute_infer", "compute_output")
_REQUEST_DURATIONS = ("success", "fail", "queue", *_BATCH_DURATIONS)


def statistics(reply: JsonFields) -> tuple[ModelStatistics, ...]:
    """Read ``ModelStatistics``."""
    return tuple(map(_model_statistics, reply.parts("model_stats")))


def _model_statistics(row: JsonFields) -> ModelStatistics:
    return ModelStatistics(
        name=row.text("name"),
        version=row.version("version"),
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

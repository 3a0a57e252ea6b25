"""JSON replies of a v2 server → the waist's records; every member is checked before it is used.

An optional member may be missing or null. ForeignFault for a body that no v2 server sends,
UnreadableFault for a member that is not what the protocol says.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tritonclient_shim.backends.names import percent_decoded
from tritonclient_shim.core.errors import ForeignFault, UnreadableFault
from tritonclient_shim.core.metadata import ModelMetadata, ServerMetadata, TensorMetadata
from tritonclient_shim.core.model import (
    BatchStatistics,
    Buffer,
    Duration,
    IndexRow,
    ModelConfigDocument,
    ModelStatistics,
    RegisteredRegion,
)
from tritonclient_shim.core.reading import shown

#: The numbers of v2 are unsigned and have 64 bits at most.
_LARGEST = 2**64 - 1
_DIGITS = re.compile(r"[0-9]{1,20}")

_REQUIRED: Any = object()


def json_of(body: Buffer) -> Any:
    """Parse a body; ForeignFault if it is no JSON, UnreadableFault if it is too deep or large."""
    try:
        return json.loads(bytes(body))
    except ValueError as error:
        raise ForeignFault(f"not the answer of a v2 server: {error!r}") from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableFault(repr(error)) from error


def check_done(body: Buffer) -> None:
    """Raise ForeignFault if the body of a status 200 to a command is not a v2 server's.

    Triton's is empty. Other v2 servers send a JSON object, and so may a proxy that never sends
    nothing. Headers are no evidence: a proxy sets its own.
    """
    answer = json_of(bytes(body).strip() or b"{}")
    if not isinstance(answer, dict) or "error" in answer:
        raise ForeignFault(f"not the answer of a v2 server to a command: {shown(answer)}")


def v2_object(answer: Any, name: str) -> dict[str, Any]:
    """Return the answer, a JSON object with a member of this name; else raise ForeignFault."""
    if type(answer) is not dict or name not in answer:
        raise ForeignFault(f"not the answer of a v2 server: {shown(answer)}")
    return answer


def v2_list(answer: Any) -> list[Any]:
    """Return the answer, a JSON list of objects; ``{}`` would pass for no rows."""
    if type(answer) is not list or not all(type(row) is dict for row in answer):
        raise ForeignFault(f"not the answer of a v2 server: {shown(answer)}")
    return answer


def text(record: Any, name: str, default: Any = _REQUIRED) -> str:
    """Return a member that is a string."""
    found: str = _member(record, name, str, "a string", default)
    return found


def number(record: Any, name: str, default: Any = _REQUIRED) -> int:
    """Return a member that is a count, a size or a time: an integer from 0 to 2**64 - 1.

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
    """Return a member that is true or false."""
    found: bool = _member(record, name, bool, "true or false", default)
    return found


def record_of(record: Any, name: str, default: Any = _REQUIRED) -> dict[str, Any]:
    """Return a member that is an object."""
    found: dict[str, Any] = _member(record, name, dict, "an object", default)
    return found


def list_of(record: Any, name: str, default: Any = _REQUIRED) -> list[Any]:
    """Return a member that is a list."""
    found: list[Any] = _member(record, name, list, "a list", default)
    return found


def version(record: Any, name: str) -> str:
    """Return a model version: a string, '' without one; some servers send a number."""
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


# ------------------------------------------------------------------------------ records


def server_metadata(answer: Any) -> ServerMetadata:
    """``GET /v2`` → ServerMetadata."""
    found = v2_object(answer, "name")
    listed = [one for one in list_of(found, "extensions", []) if type(one) is str]
    return ServerMetadata(text(found, "name"), text(found, "version", ""), tuple(listed))


def model_metadata(answer: Any) -> ModelMetadata:
    """``GET /v2/models/<m>`` → ModelMetadata."""
    found = v2_object(answer, "name")
    inputs, outputs = (list_of(found, side, []) for side in ("inputs", "outputs"))
    tensors = tuple(map(_tensor, inputs)), tuple(map(_tensor, outputs))
    return ModelMetadata(text(found, "name"), text(found, "platform", ""), *tensors)


def _tensor(answer: Any) -> TensorMetadata:
    shape = list_of(answer, "shape", [])
    if not all(type(size) is int for size in shape):
        raise UnreadableFault(f"its 'shape' is {shown(shape)}", "a list of integers")
    return TensorMetadata(text(answer, "name"), text(answer, "datatype", ""), tuple(shape))


def config_document(answer: Any) -> ModelConfigDocument:
    """``GET /v2/models/<m>/config`` → ModelConfigDocument; every configuration has a name."""
    found = v2_object(answer, "name")
    for tensor in (*list_of(found, "input", []), *list_of(found, "output", [])):
        text(tensor, "name")
    policy = record_of(found, "model_transaction_policy", {})
    return ModelConfigDocument(found, text(found, "backend", ""), flag(policy, "decoupled", False))


def index_rows(answer: Any) -> tuple[IndexRow, ...]:
    """``POST /v2/repository/index`` → a row per model version."""
    return tuple(map(_index_row, v2_list(answer)))


def served_models(answer: Any) -> tuple[IndexRow, ...]:
    """``GET /v2/models``, which lists the names of the models that are ready → their rows."""
    found = v2_object(answer, "models")
    names = list_of(found, "models")
    return tuple(IndexRow(name, "", "READY") for name in names if type(name) is str)


def _index_row(answer: Any) -> IndexRow:
    state, reason = text(answer, "state", ""), text(answer, "reason", "")
    return IndexRow(text(answer, "name"), version(answer, "version"), state, reason)


_BATCH_DURATIONS = ("compute_input", "compute_infer", "compute_output")
_REQUEST_DURATIONS = ("success", "fail", "queue", *_BATCH_DURATIONS)


def statistics(answer: Any) -> tuple[ModelStatistics, ...]:
    """``GET …/stats`` → one record per model version; times in ns."""
    found = v2_object(answer, "model_stats")
    return tuple(map(_model_statistics, v2_list(found["model_stats"])))


def _model_statistics(answer: Any) -> ModelStatistics:
    return ModelStatistics(
        name=text(answer, "name"),
        version=version(answer, "version"),
        last_inference_ms=number(answer, "last_inference", 0),
        inference_count=number(answer, "inference_count", 0),
        execution_count=number(answer, "execution_count", 0),
        batches=tuple(map(_batch_statistics, list_of(answer, "batch_stats", []))),
        **_durations(record_of(answer, "inference_stats", {}), _REQUEST_DURATIONS),
    )


def _batch_statistics(answer: Any) -> BatchStatistics:
    return BatchStatistics(number(answer, "batch_size"), **_durations(answer, _BATCH_DURATIONS))


def _durations(answer: Any, members: tuple[str, ...]) -> dict[str, Duration]:
    found = {member: record_of(answer, member) for member in members if member in answer}
    return {
        member: Duration(number(duration, "count"), number(duration, "ns"))
        for member, duration in found.items()
    }


def regions(system: Any, cuda: Any) -> tuple[RegisteredRegion, ...]:
    """``GET /v2/{system,cuda}sharedmemory/status`` → regions under their users' names."""
    return (*map(_system_region, v2_list(system)), *map(_cuda_region, v2_list(cuda)))


def _system_region(answer: Any) -> RegisteredRegion:
    name, size = percent_decoded(text(answer, "name")), number(answer, "byte_size")
    return RegisteredRegion(name, size, text(answer, "key"), number(answer, "offset", 0))


def _cuda_region(answer: Any) -> RegisteredRegion:
    name, device = percent_decoded(text(answer, "name")), number(answer, "device_id", 0)
    return RegisteredRegion(name, number(answer, "byte_size"), device_id=device, kind="cuda")

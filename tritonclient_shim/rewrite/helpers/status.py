"""What a server tells of itself and of its models."""

from __future__ import annotations

import collections
import enum
import json
import time
import types
from typing import Any, Mapping

from google.protobuf import text_format
from google.protobuf.message import Message
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException

from tritonclient_shim.rewrite.helpers.requests import config_of

#: States of a server and of a version of a model, by the names and numbers that they had.
_SERVER_STATES = "INVALID INITIALIZING READY EXITING"
ServerReadyState = enum.IntEnum(  # type: ignore[misc]
    "ServerReadyState",
    [(f"SERVER_{name}", number) for number, name in enumerate(_SERVER_STATES.split())]
    + [("SERVER_FAILED_TO_INITIALIZE", 10)],
)
_MODEL_STATES = "UNKNOWN READY UNAVAILABLE LOADING UNLOADING"
ModelReadyState = enum.IntEnum(  # type: ignore[misc]
    "ModelReadyState",
    [(f"MODEL_{name}", number) for number, name in enumerate(_MODEL_STATES.split())],
)


def server_metadata(client: Any) -> Any:
    """Return the name and the version of a server."""
    answer = client.get_server_metadata()
    return types.SimpleNamespace(**answer) if isinstance(answer, dict) else answer


def index_rows(client: Any) -> list[tuple[str, str, str]]:
    """Return name, version and state of each model in the server's repository."""
    answer = client.get_model_repository_index()
    if isinstance(answer, list):
        return [(item["name"], item.get("version", ""), item.get("state", "")) for item in answer]
    return [(model.name, model.version, model.state) for model in answer.models]


def repository_index(client: Any) -> Any:
    """Return the models of the server's repository, by name, as the attribute `models`."""
    names = sorted({name for name, _, _ in index_rows(client)})
    return types.SimpleNamespace(models=[types.SimpleNamespace(name=name) for name in names])


_started = time.monotonic_ns()


class Status(types.SimpleNamespace):
    """A part of a status, which prints as the message that it was."""

    def __str__(self) -> str:
        return "".join(status_text(name, value) for name, value in vars(self).items())


def status_text(name: str, value: Any, indent: str = "") -> str:
    """Return a field of a status as text, with the fields inside of it."""
    inner = indent + "  "
    if isinstance(value, Mapping):
        pairs = [{"key": key, "value": item} for key, item in sorted(value.items())]
        return "".join(status_text(name, Status(**pair), indent) for pair in pairs)
    if isinstance(value, Message):
        text = text_format.MessageToString(value, indent=len(inner))
    elif isinstance(value, Status):
        text = "".join(status_text(key, item, inner) for key, item in vars(value).items())
    else:
        states = ModelReadyState if indent else ServerReadyState
        plain = states(value).name if name == "ready_state" else json.dumps(value)
        return f"{indent}{name}: {plain}\n" if value or name == "key" else ""
    return f"{indent}{name} {{\n{text}{indent}}}\n"


def version_status(ready_state: int = 0, reason: str = "", statistics: Any = None) -> Status:
    """Return the status of a version of a model, with the counts of its statistics."""
    counts = statistics or {}
    if isinstance(statistics, Message):
        names = ("execution_count", "inference_count", "last_inference")
        counts = {name: getattr(statistics, name) for name in names}
    return Status(
        ready_state=ready_state,
        model_execution_count=counts.get("execution_count", 0),
        model_inference_count=counts.get("inference_count", 0),
        ready_state_reason=Status(message=reason),
        last_inference_timestamp_milliseconds=counts.get("last_inference", 0),
    )


def statistics_of(client: Any, model_name: str, version: str) -> Any:
    """Return the statistics of a version of a model."""
    answer = client.get_inference_statistics(model_name, version)
    return (answer["model_stats"] if isinstance(answer, dict) else answer.model_stats)[0]


def server_status(client: Any, model_name: str | None = None) -> Any:
    """Return the status of a server and of its models, or of one of them."""
    metadata, live = server_metadata(client), client.is_server_live()
    models: collections.defaultdict[str, Any] = collections.defaultdict(
        lambda: Status(
            config=model_config_pb2.ModelConfig(),
            version_status=collections.defaultdict(version_status),
        )
    )
    for name, version, state in index_rows(client):
        if state and version and model_name in (None, "", name):
            is_ready, number = state == "READY", ModelReadyState["MODEL_" + state].value
            counts = statistics_of(client, name, version) if is_ready else None
            models[name].version_status[int(version)] = version_status(number, "", counts)
            models[name].config = config_of(client, name) if is_ready else models[name].config
    if model_name and model_name not in models:
        text = f"no status available for unknown model '{model_name}'"
        raise InferenceServerException(text, "StatusCode.NOT_FOUND")
    return Status(
        id=metadata.name,
        version=metadata.version,
        uptime_ns=time.monotonic_ns() - _started,  # of this program: a server does not tell its own
        model_status=models,
        ready_state=2 if live else 0,  # SERVER_READY, SERVER_INVALID
    )

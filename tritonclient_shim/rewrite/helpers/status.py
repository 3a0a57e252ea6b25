"""What a server reports about itself and its models, where programs read v1's status."""

import collections
import enum
import json
import textwrap
import time
import types
from functools import partial

from google.protobuf import json_format
from google.protobuf.message import Message
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException

from tritonclient_shim.rewrite.helpers.requests import model_config


class ServerReadyState(enum.IntEnum):
    """States of a server, by the names and numbers that they had."""

    SERVER_INVALID, SERVER_INITIALIZING, SERVER_READY, SERVER_EXITING = range(4)
    SERVER_FAILED_TO_INITIALIZE = 10
    __str__ = __repr__ = int.__repr__


class ModelReadyState(enum.IntEnum):
    """States of a version of a model, by the names and numbers that they had."""

    MODEL_UNKNOWN, MODEL_READY, MODEL_UNAVAILABLE, MODEL_LOADING, MODEL_UNLOADING = range(5)
    __str__ = __repr__ = int.__repr__


class Status(types.SimpleNamespace):
    """A part of a status, which prints as the message that it was."""

    def __str__(self):
        return "".join(field_text(*field) for field in vars(self).items())


def field_text(name, value):
    """Return a field of a status as text."""
    if isinstance(value, dict):
        return "".join(field_text(name, Status(key=key, value=value[key])) for key in sorted(value))
    if isinstance(value, Message) and not value.ByteSize():
        return ""
    if isinstance(value, (Message, Status)):
        return f"{name} {{\n{textwrap.indent(str(value), '  ')}}}\n"
    text = value.name if isinstance(value, enum.Enum) else json.dumps(value)
    return f"{name}: {text}\n" if value else ""


def as_dict(answer):
    """Return what a client answered; over gRPC it is a message."""
    if not isinstance(answer, Message):
        return answer
    return json_format.MessageToDict(answer, preserving_proto_field_name=True)


def server_status(client, model_name="", part=types.SimpleNamespace):
    """Return the status of a server and of its models, or of one. It has no infer_stats.

    ``part``: the class of its parts. Only a Status prints as the message did.
    """
    server, index = as_dict(client.get_server_metadata()), client.get_model_repository_index()
    index, config = as_dict(index), model_config_pb2.ModelConfig
    unknown = partial(part, ready_state=ModelReadyState.MODEL_UNKNOWN)
    versions = partial(collections.defaultdict, unknown)
    models = collections.defaultdict(lambda: part(config=config(), version_status=versions()))
    for row in index if isinstance(index, list) else index["models"]:
        if row.get("version") and model_name in (None, "", row["name"]):
            add_version(client, models[row["name"]], row, part)
    if model_name and not models:
        raise InferenceServerException(f"no status available for unknown model '{model_name}'")
    return part(
        id=server["name"],
        version=server["version"],
        uptime_ns=time.monotonic_ns(),  # of this machine: no server reports its own
        model_status=models,
        ready_state=ServerReadyState.SERVER_READY,
    )


def add_version(client, model, row, part):
    """Add the state of a version to a model, and its counts if it is ready."""
    state, counts = row.get("state") or "UNKNOWN", {}
    if state == "READY":
        model.config = model_config(client, row["name"])
        counts = as_dict(client.get_inference_statistics(row["name"], row["version"]))
        counts = counts["model_stats"][0]
    model.version_status[int(row["version"])] = part(
        ready_state=ModelReadyState[f"MODEL_{state}"],
        model_execution_count=int(counts.get("execution_count", 0)),
        model_inference_count=int(counts.get("inference_count", 0)),
        ready_state_reason=part(message=row.get("reason", "")),
        last_inference_timestamp_milliseconds=int(counts.get("last_inference", 0)),
    )

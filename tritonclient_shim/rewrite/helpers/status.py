"""What a server reports about itself and about its models."""

import collections
import enum
import json
import textwrap
import time
import types

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


def as_dict(answer):
    """Return what a client answered, over gRPC a message, as over HTTP."""
    if isinstance(answer, Message):
        return json_format.MessageToDict(answer, preserving_proto_field_name=True)
    return answer


def index_rows(client):
    """Return the versions of the models in the server's repository, each as a dict."""
    answer = as_dict(client.get_model_repository_index())
    return answer if isinstance(answer, list) else answer["models"]


def repository_index(client):
    """Return the models of the server's repository, by name, as the attribute `models`."""
    names = sorted({row["name"] for row in index_rows(client)})
    return types.SimpleNamespace(models=[types.SimpleNamespace(name=name) for name in names])


class Status(types.SimpleNamespace):
    """A part of a status, which prints as the message that it was."""

    def __str__(self):
        return "".join(field_text(name, value) for name, value in vars(self).items())


def field_text(name, value):
    """Return a field of a status as text."""
    if isinstance(value, dict):
        parts = (Status(key=key, value=value[key]) for key in sorted(value))
        return "".join(field_text(name, part) for part in parts)
    if isinstance(value, (Message, Status)):
        return f"{name} {{\n{textwrap.indent(str(value), '  ')}}}\n"
    text = value.name if isinstance(value, enum.Enum) else json.dumps(value)
    return f"{name}: {text}\n" if value or name == "key" else ""


def server_status(client, model_name=""):
    """Return the status of a server and of its models, or of one of them."""
    metadata = as_dict(client.get_server_metadata())
    models = collections.defaultdict(new_model)
    for row in index_rows(client):
        if row.get("state") and row.get("version") and (model_name or row["name"]) == row["name"]:
            models[row["name"]].version_status[int(row["version"])] = version_status(client, row)
            if row["state"] == "READY":
                models[row["name"]].config = model_config(client, row["name"])
    if model_name and not models:
        text = f"no status available for unknown model '{model_name}'"
        raise InferenceServerException(text, "StatusCode.NOT_FOUND")
    return Status(id=metadata["name"], version=metadata["version"], uptime_ns=time.monotonic_ns(),
                  model_status=models, ready_state=ServerReadyState.SERVER_READY)  # fmt: skip


def config_status(client, model_name):
    """Return the part of a status that has the configuration of a model."""
    model = types.SimpleNamespace(config=model_config(client, model_name))
    return types.SimpleNamespace(model_status={model_name: model})


def new_model():
    """Return the status of a model without versions."""
    versions = collections.defaultdict(lambda: Status(ready_state=ModelReadyState.MODEL_UNKNOWN))
    return Status(config=model_config_pb2.ModelConfig(), version_status=versions)


def version_status(client, row):
    """Return the state of a model's version, and its counts if it is ready."""
    counts = {}
    if row["state"] == "READY":
        answer = client.get_inference_statistics(row["name"], row["version"])
        counts = as_dict(answer)["model_stats"][0]
    return Status(
        ready_state=ModelReadyState["MODEL_" + row["state"]],
        model_execution_count=int(counts.get("execution_count", 0)),
        model_inference_count=int(counts.get("inference_count", 0)),
        ready_state_reason=Status(message=row.get("reason", "")),
        last_inference_timestamp_milliseconds=int(counts.get("last_inference", 0)),
    )

"""What a server reports about itself and its models, where programs read v1's status."""

import collections
import textwrap
import time
import types
from functools import partial

from google.protobuf import wrappers_pb2
from google.protobuf.message import Message
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException

from tritonclient_shim.migrate.helpers.requests import fetched_config

MODEL_STATES = [f"MODEL_{s}" for s in ("UNKNOWN", "READY", "UNAVAILABLE", "LOADING", "UNLOADING")]
SERVER_STATES = {2: "SERVER_READY", 10: "SERVER_FAILED_TO_INITIALIZE"}  # servers report no other
MODEL_READY, SERVER_READY = 1, 2  # most programs name no other
MODEL_UNKNOWN, MODEL_UNAVAILABLE, MODEL_LOADING, MODEL_UNLOADING = 0, 2, 3, 4
SERVER_INVALID, SERVER_INITIALIZING, SERVER_EXITING, SERVER_FAILED_TO_INITIALIZE = 0, 1, 3, 10


class Status(types.SimpleNamespace):
    """A part of a status, which prints as the message that it was."""

    def __str__(self):
        states = MODEL_STATES if "ready_state_reason" in vars(self) else SERVER_STATES
        return "".join(field_text(*field, states) for field in vars(self).items())

    __repr__ = __str__


def field_text(name, value, states=()):
    """Return a field of a status as text. ``states``: the names of its numbers."""
    if isinstance(value, dict):
        return "".join(field_text(name, Status(key=key, value=value[key])) for key in sorted(value))
    if isinstance(value, (Message, Status)):
        text = f"{name} {{\n{textwrap.indent(str(value), '  ')}}}\n"
        return "" if isinstance(value, Message) and not value.ByteSize() else text
    if type(value) is types.SimpleNamespace:  # a message that is not set
        return ""
    if isinstance(value, str):  # with the escapes of protobuf
        return str(wrappers_pb2.StringValue(value=value)).replace("value", name, 1)
    return f"{name}: {states[value] if name == 'ready_state' else value}\n" if value else ""


def config_with_platform(client, model_name):
    """Return a copy of a configuration. Its platform is the backend if it has no other."""
    config = model_config_pb2.ModelConfig()
    config.CopyFrom(fetched_config(client, model_name))
    config.platform = config.platform or config.backend
    return config


def described(client, model_name):
    """Return the configuration of a model. It has only the name if the server refuses it."""
    try:
        return config_with_platform(client, model_name)
    except InferenceServerException:
        return model_config_pb2.ModelConfig(name=model_name)


def state_of_version(part, row=None, counts=None):
    """Return the status of a version, which ``row`` and ``counts`` describe."""
    reason = part if row else types.SimpleNamespace
    row = row or {}
    counts = counts or {}
    state = f"MODEL_{row.get('state')}"
    return part(
        ready_state=MODEL_STATES.index(state) if state in MODEL_STATES else 0,
        model_execution_count=int(counts.get("execution_count", 0)),
        model_inference_count=int(counts.get("inference_count", 0)),
        ready_state_reason=reason(message=row.get("reason", "")),
        last_inference_timestamp_milliseconds=int(counts.get("last_inference", 0)),
        infer_stats=counts.get("batch_stats", []),
    )


def model_counts(client, model_name, **as_json):
    """Return what a server has counted, by model and version. Only loaded models have counts."""
    try:
        rows = client.get_inference_statistics(model_name, **as_json).get("model_stats", [])
    except InferenceServerException:
        return {}
    return {(row["name"], row["version"]): row for row in rows}


def listed_models(client, model_name, **as_json):
    """Return the rows of the models that a server has loaded once, or of one, and the counts."""
    index = client.get_model_repository_index(**as_json)
    rows = index if isinstance(index, list) else index.get("models", [])
    counts = model_counts(client, model_name, **as_json)
    listed = {row["name"] for row in rows}
    # the index lacks loaded models whose files were deleted
    loaded = [{"name": n, "version": v, "state": "READY"} for n, v in counts if n not in listed]
    wanted = (row for row in [*rows, *loaded] if model_name in ("", row["name"]))
    return [row for row in wanted if row.get("state")], counts


def get_server_status(client, model_name="", part=types.SimpleNamespace):
    """Return the status of a server and of its models, or of one.

    ``part``: the class of its parts. Only a Status prints as the message did.
    """
    as_json = {"as_json": True} if "grpc" in client.get_model_config.__module__ else {}
    server = client.get_server_metadata(**as_json)
    is_live = client.is_server_live()
    rows, counts = listed_models(client, model_name or "", **as_json) if is_live else ([], {})
    versions = partial(collections.defaultdict, partial(state_of_version, part))
    models = collections.defaultdict(
        lambda: part(config=model_config_pb2.ModelConfig(), version_status=versions())
    )
    for row in rows:
        name = row["name"]
        version = row.get("version", "")
        if name not in models:
            models[name].config = described(client, name)
        if version or row["state"] == "READY":
            number = int(version) if version.isdigit() else -1
            own_counts = counts.get((name, version))
            models[name].version_status[number] = state_of_version(part, row, own_counts)
    if model_name and not models:
        raise InferenceServerException(f"no status available for unknown model '{model_name}'")
    return part(
        id=server["name"],
        version=server["version"],
        uptime_ns=time.monotonic_ns(),  # of this machine: no server reports its own
        model_status=models,
        ready_state=2 if is_live else 10,  # SERVER_READY, SERVER_FAILED_TO_INITIALIZE
    )

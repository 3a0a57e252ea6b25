"""Helpers of files that read no more of a status than states, in place of those of these names."""

import collections
import types
from functools import partial

from tritonclient.utils import InferenceServerException

from tritonclient_shim.migrate.helpers.status import MODEL_STATES, listed_models


def state_of_version(state="", reason=""):
    """Return the state of a version, with its reason."""
    name = f"MODEL_{state}"
    return types.SimpleNamespace(
        ready_state=MODEL_STATES.index(name) if name in MODEL_STATES else 0,
        ready_state_reason=types.SimpleNamespace(message=reason),
    )


def get_server_status(client, model_name=""):
    """Return the states of a server and of the versions of its models, or of one model."""
    as_json = {"as_json": True} if "grpc" in client.get_model_config.__module__ else {}
    server = client.get_server_metadata(**as_json)
    is_live = client.is_server_live()
    rows, _ = listed_models(client, model_name or "", **as_json) if is_live else ([], {})
    versions = partial(collections.defaultdict, state_of_version)
    models = collections.defaultdict(lambda: types.SimpleNamespace(version_status=versions()))
    for row in rows:
        states = models[row["name"]].version_status
        version = row.get("version", "")
        if version or row["state"] == "READY":
            number = int(version) if version.isdigit() else -1
            states[number] = state_of_version(row["state"], row.get("reason", ""))
    if model_name and not models:
        raise InferenceServerException(f"no status available for unknown model '{model_name}'")
    return types.SimpleNamespace(
        id=server["name"],
        version=server["version"],
        model_status=models,
        ready_state=2 if is_live else 10,  # SERVER_READY, SERVER_FAILED_TO_INITIALIZE
    )

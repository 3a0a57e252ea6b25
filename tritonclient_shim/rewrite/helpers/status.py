"""The configuration of a model, where programs read it from the status of a server."""

import types

from tritonclient_shim.rewrite.helpers.requests import model_config


def config_status(client, model_name):
    """Return the part of a status that has the configuration of a model."""
    model = types.SimpleNamespace(config=model_config(client, model_name))
    return types.SimpleNamespace(model_status={model_name: model})

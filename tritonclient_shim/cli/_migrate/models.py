"""Models' configurations, from a server or from files."""

from __future__ import annotations

import json
import urllib.request
from typing import Any, Mapping, Sequence

from google.protobuf import json_format, text_format

from tritonclient_shim.cli._migrate import MigrateRefused

_SECONDS = 10


def configurations(server: str, files: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Name of a model → its configuration, as a server tells it over HTTP."""
    found = _of_server(server) if server else {}
    for path in files:
        config = _of_file(path)
        found[str(config["name"])] = config
    return found


def _of_server(server: str) -> dict[str, Mapping[str, Any]]:
    """The configurations of the models that are ready there."""
    base = server if "://" in server else f"http://{server}"
    try:
        index = _asked(f"{base}/v2/repository/index", b"{}")
        names = {str(one["name"]) for one in index if one.get("state") == "READY"}
        return {name: _asked(f"{base}/v2/models/{name}/config") for name in sorted(names)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MigrateRefused(
            f"--server {server}: {error}; expected HOST:PORT of a Triton server's HTTP"
        ) from error


def _asked(url: str, body: bytes | None = None) -> Any:
    with urllib.request.urlopen(url, body, timeout=_SECONDS) as answer:  # noqa: S310
        return json.loads(answer.read())


def _of_file(path: str) -> Mapping[str, Any]:
    """A configuration in JSON, or as config.pbtxt has it."""
    from tritonclient_shim.protos import model_config_pb2

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.lstrip().startswith("{"):
            found: Mapping[str, Any] = json.loads(text)
        else:
            message = model_config_pb2.ModelConfig()
            text_format.Parse(text, message, allow_unknown_field=True)
            found = json_format.MessageToDict(message, preserving_proto_field_name=True)
        if not found.get("name"):
            raise ValueError("it has no name")
    except (OSError, ValueError, text_format.ParseError) as error:
        raise MigrateRefused(
            f"--model-config {path}: {error}; expected a config.pbtxt with a name, or the JSON of "
            "GET /v2/models/NAME/config"
        ) from error
    return found

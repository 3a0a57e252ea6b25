"""Models' configurations, from a server or from files."""

from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

from google.protobuf import json_format, text_format

from tritonclient_shim.cli._migrate import MigrateRefused
from tritonclient_shim.core.addresses import without_user
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import GRPC, HTTP
from tritonclient_shim.protos import model_config_pb2
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate.endpoint import parse_url


def configurations(server: str, files: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Name of a model → its configuration, as JSON of the v2 protocol has it."""
    found = _of_server(server) if server else {}
    for path in files:
        config = _of_file(path)
        found[str(config["name"])] = config
    return found


def _of_server(server: str) -> dict[str, Mapping[str, Any]]:
    """The configurations of the models that are ready there, over whichever protocol it speaks."""
    reasons = []
    for protocol in (HTTP, GRPC):
        try:
            return _asked(server, protocol)
        except (InferenceServerException, ValueError) as error:
            text = error.message() if isinstance(error, InferenceServerException) else str(error)
            reasons.append(f"over {protocol} {text}")
    shown = without_user(server)
    raise MigrateRefused(
        f"--server {shown}: {'; '.join(reasons)}; expected HOST:PORT of a Triton server"
    )


def _asked(server: str, protocol: str) -> dict[str, Mapping[str, Any]]:
    session = ServerSession(parse_url(server, protocol))
    try:
        with session.guard(no_status_text="no v2 inference server answers"):
            ready = {row.name for row in session.backend.repository_index() if row.state == "READY"}
            found = session.backend.model_configs(sorted(ready))
    finally:
        session.close()
    configs = {name: _as_json(document.content) for name, document in found.items()}
    return {name: config for name, config in configs.items() if _has_types_of_v1(config)}


def _has_types_of_v1(config: Mapping[str, Any]) -> bool:
    """Whether v1 had the data types; others, such as BF16, no legacy program can use."""
    names = set(model_config_pb2.DataType.keys())
    tensors = [*config.get("input", []), *config.get("output", [])]
    return all(one["data_type"] in names for one in tensors)


def _as_json(content: bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(content, bytes):
        return content
    return _message_as_json(model_config_pb2.ModelConfig.FromString(content))


def _message_as_json(message: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return found


def _of_file(path: str) -> Mapping[str, Any]:
    """A configuration in JSON, or as config.pbtxt has it."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.lstrip().startswith("{"):
            found: Mapping[str, Any] = json.loads(text)
        else:
            message = model_config_pb2.ModelConfig()
            text_format.Parse(text, message, allow_unknown_field=True)
            found = _message_as_json(message)
        if not found.get("name"):
            raise ValueError("it has no name")
    except (OSError, ValueError, RecursionError, text_format.ParseError) as error:
        raise MigrateRefused(
            f"--model-config {path}: {error}; expected a config.pbtxt with a name, or the JSON of "
            "GET /v2/models/NAME/config"
        ) from error
    return found

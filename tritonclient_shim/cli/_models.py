"""Configurations of the models of a server, for ``migrate``."""

from __future__ import annotations

from typing import Any, Mapping

from google.protobuf import json_format

from tritonclient_shim.cli import Refused
from tritonclient_shim.cli._server import reason_of
from tritonclient_shim.core.addresses import without_user
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import PROTOCOLS
from tritonclient_shim.protos import model_config_pb2
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate.constructors import parse_url

_Config = Mapping[str, Any]


def configurations(server: str) -> dict[str, _Config]:
    """Return the configuration of each ready model by its name, as JSON of the v2 protocol has it.

    Ask the server over whichever protocol answers.
    """
    reasons = []
    for protocol in PROTOCOLS:
        try:
            return _ask(server, protocol)
        except (InferenceServerException, ValueError) as error:
            reasons.append(f"over {protocol} {reason_of(error)}")
    shown = without_user(server)
    raise Refused(f"--server {shown}: {'; '.join(reasons)}; expected HOST:PORT of a Triton server")


def _ask(server: str, protocol: str) -> dict[str, _Config]:
    session = ServerSession(parse_url(server, protocol))
    try:
        with session.guard(no_status_text="no v2 inference server answers"):
            ready = {row.name for row in session.backend.repository_index() if row.state == "READY"}
            documents = session.backend.model_configs(sorted(ready))
    finally:
        session.close()
    configs = {name: _as_json(document.content) for name, document in documents.items()}
    return {name: config for name, config in configs.items() if _has_types_of_v1(config)}


def _has_types_of_v1(config: _Config) -> bool:
    """True if v1 had the datatypes. No legacy program can use others, such as BF16."""
    names = set(model_config_pb2.DataType.keys())
    tensors = [*config.get("input", []), *config.get("output", [])]
    return all(tensor["data_type"] in names for tensor in tensors)


def _as_json(content: bytes | _Config) -> _Config:
    if not isinstance(content, bytes):
        return content
    message = model_config_pb2.ModelConfig.FromString(content)
    config: _Config = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return config

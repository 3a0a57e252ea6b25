"""A v2 model configuration → v1's message and the profile a context keeps
(docs/v1-behaviour.md §8.3).
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from google.protobuf import json_format

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.model import ModelConfigDocument
from tritonclient_shim.protos import model_config_pb2
from tritonclient_shim.servers.base import ModelProfile, TensorSpec

#: Maps of the user's own texts: nothing below them is a field of the configuration.
_USER_MAPS = frozenset({"metric_tags", "cc_model_filenames", "parameters"})

_DATA_TYPES = frozenset(model_config_pb2.DataType.keys())


def to_v1(document: ModelConfigDocument) -> model_config_pb2.ModelConfig:
    """Return ``nvidia.inferenceserver.ModelConfig``, without fields that v1 never had.

    v2 keeps every number and name of v1, so the wire bytes are v1's. ``platform`` is empty for
    models that name a backend; v1's never was, so it then holds the backend's name. Raises
    ValueError or DecodeError for content that is no configuration.
    """
    config = model_config_pb2.ModelConfig()
    if isinstance(document.content, Mapping):
        try:
            json_format.ParseDict(_readable(document.content), config, ignore_unknown_fields=True)
        except json_format.ParseError as error:  # no built-in exception: see core/reading.py
            raise ValueError(str(error)) from error
    else:
        config.ParseFromString(document.content)
        config.DiscardUnknownFields()
    config.platform = config.platform or document.backend
    return config


def to_profile(name: str, document: ModelConfigDocument) -> ModelProfile:
    """Return what a context keeps of a configuration, under the name that it asked for."""
    config = to_v1(document)
    return ModelProfile(
        name=name,
        max_batch_size=config.max_batch_size,
        inputs=_specs(config.input),
        outputs=_specs(config.output),
        stateful=config.HasField("sequence_batching"),
        ensemble=config.HasField("ensemble_scheduling"),
        decoupled=document.decoupled,
    )


def _specs(tensors: Iterable[Any]) -> dict[str, TensorSpec]:
    specs = {}
    for tensor in tensors:
        row = dtypes.BY_NUMBER.get(tensor.data_type)
        labels = getattr(tensor, "label_filename", "")
        specs[tensor.name] = TensorSpec(
            tensor.name, row.v2 if row else "", tuple(tensor.dims), labels, tensor.is_shape_tensor
        )
    return specs


def _readable(value: Any) -> Any:
    """Return JSON of v1's message: newer data types by number, or left out if they have none."""
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    readable = {}
    for key, item in value.items():
        if key == "data_type" and type(item) is str and item not in _DATA_TYPES:
            item = dtypes.NEWER.get(item)
        readable[key] = item if key in _USER_MAPS else _readable(item)
    return readable

"""v2 model configurations as v1's message and as a context's profile.

(docs/v1-behaviour.md §8.3)
"""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim.core.model import ModelConfigDocument
from tritonclient_shim.protos import model_config_pb2 as pb
from tritonclient_shim.servers.configuration import to_profile, to_v1

#: Field 25 of v2's message, ``runtime``: a text that v1 does not know.
RUNTIME = b"\xca\x01\x07runtime"

JSON: dict[str, Any] = {
    "name": "m",
    "platform": "",
    "backend": "python",
    "runtime": "",
    "version_policy": {"latest": {"num_versions": 1}},
    "max_batch_size": 8,
    "input": [
        {
            "name": "I",
            "data_type": "TYPE_STRING",
            "format": "FORMAT_NCHW",
            "dims": [-1, 3],
            "is_shape_tensor": False,
            "optional": True,
        },
        {"name": "B", "data_type": "TYPE_BF16", "dims": [1]},
    ],
    "output": [{"name": "O", "data_type": "TYPE_FP32", "dims": [10], "label_filename": "l.txt"}],
    "batch_input": [{"kind": "BATCH_ELEMENT_COUNT", "data_type": "TYPE_FP32"}],
    "sequence_batching": {
        "direct": {"minimum_slot_utilization": 0.5},
        "control_input": [
            {
                "name": "C",
                "control": [{"kind": "CONTROL_SEQUENCE_CORRID", "data_type": "TYPE_UINT64"}],
            }
        ],
    },
    "parameters": {"data_type": {"string_value": "TYPE_BF16"}},
    "metric_tags": {"data_type": "TYPE_BF16"},
    "instance_group": [{"name": "m_0", "kind": "KIND_CPU", "count": 2, "host_policy": ""}],
    "model_warmup": [{"name": "w", "inputs": {"I": {"data_type": "TYPE_BF16", "dims": [1]}}}],
}


def document(content: Any = None, **more: Any) -> ModelConfigDocument:
    return ModelConfigDocument(JSON if content is None else content, **more)


def test_bf16_keeps_its_number() -> None:
    """BF16 is the bare number 14, on the wire and in JSON (docs/v1-behaviour.md §8.3)."""
    wire = pb.ModelConfig(name="m")
    wire.input.add(name="B").data_type = 14
    for config in (to_v1(document()), to_v1(document(wire.SerializeToString()))):
        assert [tensor.data_type for tensor in config.input if tensor.name == "B"] == [14]
    assert to_v1(document()).model_warmup[0].inputs["I"].data_type == 14


def test_wire_bytes_without_newer_fields() -> None:
    """v1's message parses v2's bytes, and drops fields that v1 lacks."""
    # docs/v1-behaviour.md §8.3
    wire = pb.ModelConfig(name="m", max_batch_size=3).SerializeToString()
    assert to_v1(document(wire + RUNTIME)).SerializeToString() == wire


@pytest.mark.parametrize(
    ("platform", "backend", "expected"),
    [("", "python", "python"), ("ensemble", "", "ensemble"), ("", "", "")],
)
def test_platform(platform: str, backend: str, expected: str) -> None:
    """platform is never empty: a model with a backend has the backend's name."""
    # docs/v1-behaviour.md §8.3
    content = {"name": "m", "platform": platform}
    assert to_v1(document(content, backend=backend)).platform == expected
    wire = pb.ModelConfig(name="m", platform=platform).SerializeToString()
    assert to_v1(document(wire, backend=backend)).platform == expected


def test_profile_of_others() -> None:
    """Profiles cover ensembles, models without batching, shape tensors and untyped tensors."""
    # docs/v1-behaviour.md §3.1
    content = {
        "name": "e",
        "max_batch_size": 0,
        "input": [{"name": "I", "dims": [2], "is_shape_tensor": True}],
        "ensemble_scheduling": {"step": [{"model_name": "m", "model_version": -1}]},
    }
    profile = to_profile("e", document(content))
    assert (profile.batching, profile.ensemble, profile.stateful) == (False, True, False)
    assert (profile.inputs["I"].datatype, profile.inputs["I"].is_shape_tensor) == ("", True)


def test_unknown_data_types() -> None:
    """An unknown data type is omitted, for every version of protobuf, but not a user's text."""
    # docs/v1-behaviour.md §8.3
    content = {
        "name": "m",
        "input": [{"name": "I", "data_type": "TYPE_FP8", "dims": [2]}],
        "model_warmup": [{"name": "w", "inputs": {"I": {"data_type": "TYPE_FP8"}}}],
        "parameters": {"data_type": {"string_value": "TYPE_FP8"}},
    }
    config = to_v1(document(content))
    assert config.input[0].data_type == pb.TYPE_INVALID
    assert config.parameters["data_type"].string_value == "TYPE_FP8"
    assert to_profile("m", document(content)).inputs["I"].datatype == ""

"""Unreadable configurations, lists and statistics, and types that are too new."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as v2

from tensorrtserver.api import (
    ModelRepositoryContext,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from tests.backends.answering_servers import (
    SCORES,
    GrpcAnswers,
    HttpAnswers,
    model_config,
    with_data,
)
from tests.backends.unreadable_cases import CLASS, RAW, UNREADABLE, output, refused, run, with_id

pytest_plugins = ["tests.backends.unreadable_cases"]


DEEP = b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
CONFIGS = [
    {**model_config(), "max_batch_size": "many"},
    {**model_config(), "max_batch_size": 2**40},
    {**model_config(), "max_batch_size": float("nan")},
    {**model_config(), "input": {"IN": 1}},
    {**model_config(), "input": ["IN"]},
    {**model_config(), "input": [{"name": "IN", "dims": [1.5]}]},
    {**model_config(), "dynamic_batching": [5]},
    {**model_config(), "dynamic_batching": {"priority_levels": "x"}},
    {**model_config(), "backend": {}},
    {**model_config(), "name": ["m"]},
    {**model_config(), "model_transaction_policy": {"decoupled": "no"}},
]


@pytest.mark.parametrize("content", [*CONFIGS, DEEP], ids=lambda content: repr(content)[-40:])
def test_http_configuration(content: Any, http_server: HttpAnswers, opened: Any) -> None:
    """An unreadable configuration is refused by every call that needs it."""
    # docs/v1-behaviour.md §3.1, §6.2
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    http_server.replaced["config"] = (body, None)
    assert re.match(UNREADABLE, refused(lambda: opened(http_server.address, 0, "m")))
    status = ServerStatusContext(http_server.address, 0, "m")
    assert re.match(UNREADABLE, refused(status.get_server_status))


@pytest.mark.parametrize(
    ("kind", "content", "ask"),
    [
        ("index", [{"name": ["m"]}], ModelRepositoryContext),
        ("index", [{"name": None}], ModelRepositoryContext),
        ("metadata", {"name": 5}, ServerStatusContext),
        ("statistics", {"model_stats": [{"name": "m", "inference_count": -1}]}, None),
        ("statistics", {"model_stats": [{"name": "m", "inference_count": "x"}]}, None),
        ("statistics", {"model_stats": [{"name": "m", "inference_stats": [1]}]}, None),
        ("statistics", {"model_stats": [{"name": "m", "batch_stats": [{}]}]}, None),
        ("system", [{"name": "r", "key": "/r", "byte_size": "8 MB"}], SharedMemoryControlContext),
        ("system", [{"name": "r", "key": 5, "byte_size": 8}], SharedMemoryControlContext),
        ("cuda", [{"name": "c", "byte_size": -8}], SharedMemoryControlContext),
        ("cuda", [{"name": "c", "byte_size": 8, "device_id": 2**63}], SharedMemoryControlContext),
    ],
)
def test_http_control(kind: str, content: Any, ask: Any, http_server: HttpAnswers) -> None:
    """Members of the wrong JSON type are refused, not passed on."""
    # docs/v1-behaviour.md §6
    http_server.replaced[kind] = (json.dumps(content).encode(), None)
    context = (ask or ServerStatusContext)(http_server.address, 0)
    call = {
        ModelRepositoryContext: "get_model_repository_index",
        SharedMemoryControlContext: "get_shared_memory_status",
    }.get(ask, "get_server_status")
    assert re.match(UNREADABLE, refused(getattr(context, call)))


def newer_config(protocol: int, *, inputs: bool) -> Any:
    """Return the model's configuration with a tensor of an unknown type."""
    config = model_config()
    del config["output"][1]
    if protocol == 0:
        config["input" if inputs else "output"][0]["data_type"] = "TYPE_FP8"
        return json.dumps(config).encode(), None
    message = json_format.ParseDict({"config": config}, v2.ModelConfigResponse())
    tensor = (message.config.input if inputs else message.config.output)[0]
    tensor.data_type = 99
    return message.SerializeToString()


@pytest.fixture(params=[0, 1], ids=["HTTP", "GRPC"])
def side(request: Any, http_server: HttpAnswers, grpc_server: GrpcAnswers) -> Any:
    """Return the server and the protocol."""
    return (grpc_server if request.param else http_server), request.param


def test_input_of_a_newer_type(side: Any, opened: Any) -> None:
    """With an unknown type contexts and status work; a request is refused."""
    # docs/v1-behaviour.md §8.3
    server, protocol = side
    server.replaced["config"] = newer_config(protocol, inputs=True)
    context = opened(server.address, protocol, "m")
    expected = (
        "input 'IN' of model 'm' has a data type that v1 did not have; expected one of "
        "TYPE_BOOL … TYPE_STRING, TYPE_BF16; send it with tritonclient"
    )
    assert refused(lambda: run(context, {"OUT": RAW})) == expected
    assert refused(lambda: with_id(context, {"OUT": RAW})) == expected
    status = ServerStatusContext(server.address, protocol, "m").get_server_status()
    data_type = status.model_status["m"].config.input[0].data_type
    assert data_type == (0 if protocol == 0 else 99)


def test_output_of_a_newer_type(side: Any, opened: Any) -> None:
    """An output of an unknown type is refused by the name in the reply."""
    # docs/v1-behaviour.md §4.1, §8.3
    server, protocol = side
    server.replaced["config"] = newer_config(protocol, inputs=False)
    if protocol == 0:
        server.replaced["infer"] = with_data(output(datatype="FP8"), SCORES.tobytes())
    else:
        response = v2.ModelInferResponse(model_name="m", raw_output_contents=[b"12345678"])
        response.outputs.add(name="OUT", datatype="FP8", shape=[2])
        server.replaced["infer"] = response.SerializeToString()
    context = opened(server.address, protocol, "m")
    message = refused(lambda: run(context, {"OUT": RAW}))
    assert message.startswith("unknown result datatype 'FP8': expected one of v1's TYPE_BOOL")
    assert "unsupported type 'TYPE_INVALID'" in refused(lambda: run(context, {"OUT": (CLASS, 1)}))
    status = ServerStatusContext(server.address, protocol, "m").get_server_status()
    assert status.model_status["m"].config.output[0].name == "OUT"

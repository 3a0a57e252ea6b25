"""Unreadable replies: each call raises InferenceServerException (docs/v1-behaviour.md §1.6)."""

from __future__ import annotations

import json
import re
import struct
import threading
from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue
from typing import Any, Callable, Iterator

import numpy as np
import pytest
from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as v2

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelRepositoryContext,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from tests.backends.answering_servers import (
    GRPC_ANSWERS,
    SCORES,
    GrpcAnswers,
    HttpAnswers,
    model_config,
    output,
    reply,
    with_data,
)
from tritonclient_shim.session import models

PATIENCE = 30.0
RAW, CLASS = InferContext.ResultFormat.RAW, InferContext.ResultFormat.CLASS
INPUTS = {"IN": [SCORES]}
UNREADABLE = (
    r"^the server's answer could not be read: .*; expected .*; check the server at this url"
)


@pytest.fixture
def http_server() -> Iterator[HttpAnswers]:
    with HttpAnswers() as server:
        yield server


@pytest.fixture
def grpc_server() -> Iterator[GrpcAnswers]:
    with GrpcAnswers() as server:
        yield server


@pytest.fixture
def opened() -> Iterator[Callable[..., InferContext]]:
    """Open contexts; close them at the end."""
    with ExitStack() as contexts:
        yield lambda *args, **kwargs: contexts.enter_context(InferContext(*args, **kwargs))


@pytest.fixture
def quiet(capfd: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no thread dies and that stderr stays empty."""
    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: died.append(arguments.exc_value))
    yield
    assert not died
    assert capfd.readouterr().err == ""


def refused(call: Callable[[], Any]) -> str:
    """Return the message of a call's error."""
    with pytest.raises(InferenceServerException) as caught:
        call()
    message: str | None = caught.value.message()
    assert message, "it says nothing"
    return message


def run(context: InferContext, outputs: Any) -> None:
    context.run(INPUTS, outputs)


def with_callback(context: InferContext, outputs: Any) -> None:
    """Fetch the result when the callback is called."""
    numbers: SimpleQueue[int] = SimpleQueue()
    context.async_run(lambda _, number: numbers.put(number), INPUTS, outputs)
    number = numbers.get(timeout=PATIENCE)
    assert numbers.empty()
    context.get_async_run_results(number)


def with_id(context: InferContext, outputs: Any) -> None:
    """Fetch the result by its id, and wait for it."""
    context.get_async_run_results(context.async_run(INPUTS, outputs), True)


REPLIES = [
    output(name=["OUT"]),
    output(shape=[-2]),
    output(shape=None),
    output(shape=[3]),
    output(datatype=5),
    output(parameters=[]),
    output(parameters={"binary_data_size": -8}),
    output(parameters={"binary_data_size": 2**70}),
    output(parameters={}, data=[1, "x"]),
    output(parameters={}, data=[1]),
    output(parameters={}, data=[1, 2], datatype="FP8"),
    {**reply(), "outputs": {}},
    {**reply(), "model_name": 5},
    {**reply(), "model_version": []},
    {**reply(), "id": 5},
]


@pytest.mark.parametrize(
    ("infer", "header"),
    [*((run, header) for header in REPLIES), (with_callback, REPLIES[0]), (with_id, REPLIES[0])],
)
def test_http_reply(
    header: Any, infer: Any, http_server: HttpAnswers, opened: Any, quiet: None
) -> None:
    """In every style the request ends with the error, and the next request works."""
    # docs/v1-behaviour.md §5
    context = opened(http_server.address, 0, "m")
    in_json = "data" in str(header)
    http_server.replaced["infer"] = with_data(header, b"" if in_json else SCORES.tobytes())
    assert re.match(UNREADABLE, refused(lambda: infer(context, {"OUT": RAW})))
    http_server.replaced.clear()
    np.testing.assert_array_equal(context.run(INPUTS, {"OUT": RAW})["OUT"][0], SCORES)


@pytest.mark.parametrize("infer", [run, with_callback, with_id])
@pytest.mark.parametrize("size", [0, 3, 4, 12])
def test_grpc_reply(size: int, infer: Any, grpc_server: GrpcAnswers, opened: Any) -> None:
    """Data that do not fit are refused, also in a reply that otherwise equals the last reply."""
    # docs/v1-behaviour.md §4.1
    context = opened(grpc_server.address, 1, "m")
    context.run(INPUTS, {"OUT": RAW})
    response = v2.ModelInferResponse()
    response.CopyFrom(GRPC_ANSWERS["infer"])
    response.raw_output_contents[0] = bytes(size)
    grpc_server.replaced["infer"] = response.SerializeToString()
    message = refused(lambda: infer(context, {"OUT": RAW}))
    assert f"output 'OUT' has {size} bytes of data; expected 8 for FP32 of shape [2]" in message
    grpc_server.replaced.clear()
    np.testing.assert_array_equal(context.run(INPUTS, {"OUT": RAW})["OUT"][0], SCORES)


def texts(*classes: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(text)) + text for text in classes)


BAD_CLASSES = [
    texts(b"1"),
    texts(b""),
    texts(b"x:0"),
    texts(b"1:-1"),
    texts(b"1:x"),
    texts(b"1:99999999999999999999:far"),
    b"\x09\0\0\0abc",
]


@pytest.mark.parametrize("model", ["m", "s"], ids=["labels asked for", "labels in the reply"])
@pytest.mark.parametrize("data", BAD_CLASSES)
def test_classes(
    data: bytes,
    model: str,
    grpc_server: GrpcAnswers,
    http_server: HttpAnswers,
    opened: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Invalid class strings are refused, in every format."""
    # docs/v2-mapping.md §1
    # A server of another test may have had this address, and its labels would be believed.
    monkeypatch.setattr(models, "BELIEVED", 0.0)
    response = v2.ModelInferResponse()
    response.CopyFrom(GRPC_ANSWERS["classes"])
    response.raw_output_contents[0] = data
    grpc_server.replaced["classes"] = response.SerializeToString()
    header = reply(classes=True)
    header["outputs"][0]["parameters"] = {"binary_data_size": len(data)}
    http_server.replaced["classes"] = with_data(header, data)
    for server, protocol in ((http_server, 0), (grpc_server, 1)):
        context = opened(server.address, protocol, model)
        message = refused(partial(run, context, {"LABELLED": (CLASS, 2)}))
        assert re.match(UNREADABLE, message)
        server.replaced.clear()
        classes = context.run(INPUTS, {"LABELLED": (CLASS, 2)})["LABELLED"]
        assert classes == [[(1, 2.0, "b"), (0, 1.0, "a")]]


@pytest.mark.parametrize("index", [2, 999_999_999])
def test_a_class_beyond_all(index: int, http_server: HttpAnswers, opened: Any) -> None:
    """A label for a class outside the tensor uses no memory (docs/v2-mapping.md §1)."""
    data = texts(b"1.000000:%d:far" % index, b"0.5:1:b")
    header = reply(classes=True)
    header["outputs"][0]["parameters"] = {"binary_data_size": len(data)}
    http_server.replaced["classes"] = with_data(header, data)
    context = opened(http_server.address, 0, "m")
    classes = context.run(INPUTS, {"LABELLED": (CLASS, 2)})["LABELLED"]
    assert classes == [[(1, 2.0, "b"), (0, 1.0, "")]]


# ---------------------------- configurations, lists and statistics, types that are too new

DEEP = b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
CONFIGS = [
    {**model_config(), "max_batch_size": "many"},
    {**model_config(), "max_batch_size": 2**40},
    {**model_config(), "input": {"IN": 1}},
    {**model_config(), "input": [{"name": "IN", "dims": [1.5]}]},
    {**model_config(), "backend": {}},
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
        ("statistics", {"model_stats": [1]}, None),
        ("metadata", {"name": 5}, ServerStatusContext),
        ("statistics", {"model_stats": [{"name": "m", "inference_count": -1}]}, None),
        ("statistics", {"model_stats": [{"name": "m", "inference_stats": [1]}]}, None),
        ("system", [{"name": "r", "key": "/r", "byte_size": "8 MB"}], SharedMemoryControlContext),
        ("system", [{"name": "r", "key": "/r", "offset": -1}], SharedMemoryControlContext),
        ("system", [{"name": "r", "key": "/r"}], SharedMemoryControlContext),
        ("cuda", [{"name": "c", "byte_size": 8, "device_id": 2**63}], SharedMemoryControlContext),
    ],
)
def test_http_control(kind: str, content: Any, ask: Any, http_server: HttpAnswers) -> None:
    """Members that are missing or of the wrong JSON type are refused, not passed on."""
    # docs/v1-behaviour.md §6
    http_server.replaced[kind] = (json.dumps(content).encode(), None)
    context = (ask or ServerStatusContext)(http_server.address, 0)
    call = {
        ModelRepositoryContext: "get_model_repository_index",
        SharedMemoryControlContext: "get_shared_memory_status",
    }.get(ask, "get_server_status")
    message = refused(getattr(context, call))
    assert re.match(UNREADABLE, message) and " object at 0x" not in message


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

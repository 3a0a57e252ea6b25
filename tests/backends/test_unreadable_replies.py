"""Unreadable replies: each call raises InferenceServerException (docs/v1-behaviour.md §1.6)."""

from __future__ import annotations

import re
import struct
from functools import partial
from typing import Any

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2 as v2

from tensorrtserver.api import grpc_service_pb2, grpc_service_pb2_grpc
from tests.backends.answering_servers import (
    GRPC_ANSWERS,
    SCORES,
    GrpcAnswers,
    HttpAnswers,
    reply,
    with_data,
)
from tests.backends.scripted_server import http
from tests.backends.unreadable_cases import (
    CLASS,
    INPUTS,
    PATIENCE,
    RAW,
    UNREADABLE,
    output,
    refused,
    run,
    with_callback,
    with_id,
)

pytest_plugins = ["tests.backends.unreadable_cases"]

REPLIES = [
    output(name=["OUT"]),
    output(name=None),
    output(shape=["1"]),
    output(shape=[-2]),
    output(shape=[2.0]),
    output(shape=None),
    output(shape=[3]),
    output(datatype=5),
    output(parameters=[]),
    output(parameters={"binary_data_size": -8}),
    output(parameters={"binary_data_size": "8"}),
    output(parameters={"binary_data_size": 2**70}),
    output(parameters={}, data={"a": 1}),
    output(parameters={}, data=[1, "x"]),
    output(parameters={}, data=[1]),
    output(parameters={}, data=[1, 2], datatype="FP8"),
    {**reply(), "outputs": {}},
    {**reply(), "outputs": ["OUT"]},
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


@pytest.mark.parametrize("length", ["-1", "x", "9999", "\xb2"])
def test_http_header_length(length: str, http_server: HttpAnswers, opened: Any) -> None:
    """An impossible header length is refused (KServe v2's binary data extension)."""
    context = opened(http_server.address, 0, "m")
    body, _ = with_data(reply(), 2 * SCORES.tobytes())
    http_server.replaced["infer"] = http(
        200, body, f"Inference-Header-Content-Length: {length}"
    ).replace("\xb2".encode(), b"\xb2")
    assert re.match(UNREADABLE, refused(lambda: run(context, {"OUT": RAW})))


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
    data: bytes, model: str, grpc_server: GrpcAnswers, http_server: HttpAnswers, opened: Any
) -> None:
    """Invalid class strings are refused, in every format."""
    # docs/v2-mapping.md §1
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


def test_stub(grpc_server: GrpcAnswers) -> None:
    """A raw stub's call with an unreadable reply ends as gRPC's own."""
    # docs/v1-behaviour.md §9.2
    response = v2.ModelInferResponse()
    response.CopyFrom(GRPC_ANSWERS["classes"])
    response.raw_output_contents[0] = texts(b"1")
    grpc_server.replaced["classes"] = response.SerializeToString()
    request = grpc_service_pb2.InferRequest(model_name="s", model_version=-1)
    request.meta_data.batch_size = 1
    request.meta_data.input.add(name="IN")
    request.meta_data.output.add(name="LABELLED").cls.count = 1
    request.raw_input.append(SCORES.tobytes())
    with grpc.insecure_channel(grpc_server.address) as channel:
        stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
        for call in (stub.Infer, lambda request: stub.Infer.future(request).result(PATIENCE)):
            with pytest.raises(grpc.RpcError) as caught:
                call(request)
            assert caught.value.code() is grpc.StatusCode.INTERNAL
            assert "the server's answer could not be read: its classification" in (
                caught.value.details()
            )

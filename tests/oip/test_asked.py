"""The requests that a server gets until its kind is known, and their order.

The servers are scripted: real ones do not refuse a call in all these ways.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ProtocolType
from tests.backends.scripted_server import ScriptedServer, http

CONFIG, SERVER, MODEL = "/v2/models/m/config", "/v2", "/v2/models/m"
UNKNOWN = http(404, b'{"error":"Request for unknown model: \'m\' is not found"}')
RAW = InferContext.ResultFormat.RAW


def path_of(request: bytes) -> str:
    """Return the path of a request."""
    return request.split(b" ", 2)[1].decode()


def answering(answers: dict[str, bytes]) -> ScriptedServer:
    """Return a server that answers by path, and other paths with an HTML page."""
    page = http(404, b"<html>not found</html>")
    return ScriptedServer(lambda request: answers.get(path_of(request), page))


def json_reply(**members: Any) -> bytes:
    """Return a reply with a JSON object."""
    return http(200, json.dumps(members).encode())


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            {
                CONFIG: UNKNOWN,
                SERVER: json_reply(name="triton", extensions=["model_configuration"]),
            },
            "no status available for unknown model 'm'",
        ),
        (
            {SERVER: json_reply(name="triton", extensions=["model_configuration"])},
            "status request did not return status",
        ),
        ({}, "status request did not return status"),
    ],
    ids=["unknown to Triton", "a proxy before Triton", "no server of the protocol"],
)
def test_no_metadata_are_asked_for(answers: dict[str, bytes], message: str) -> None:
    """A server with configurations, or of another protocol, is not asked for model metadata."""
    with answering(answers) as server:
        with pytest.raises(InferenceServerException) as caught:
            InferContext(server.address, ProtocolType.HTTP, "m")
        assert caught.value.message() == message
        assert [path_of(item) for item in server.requests] == [CONFIG, SERVER]


@pytest.mark.parametrize(
    "refusal",
    [
        http(404, b'{"detail":"Not Found"}'),
        http(405),
        http(501, b"Not Implemented"),
        http(404, b'{"error":"Invalid path"}'),
        http(400, b'{"error":"Invalid path"}'),
    ],
    ids=["FastAPI", "405", "501", "404", "400"],
)
def test_metadata_in_place_of_a_configuration(refusal: bytes) -> None:
    """A model is served from its metadata after any reply that refuses the configuration."""
    tensor = {"name": "x", "datatype": "INT8", "shape": [-1, 2]}
    output = {"name": "y", "datatype": "INT8", "shape": [1, 2], "data": [3, 4]}
    answers = {
        CONFIG: refusal,
        SERVER: json_reply(name="other"),
        MODEL: json_reply(name="m", inputs=[tensor]),
        f"{MODEL}/infer": json_reply(model_name="m", outputs=[output]),
    }
    with answering(answers) as server:
        context = InferContext(server.address, ProtocolType.HTTP, "m")
        assert [path_of(item) for item in server.requests] == [CONFIG, SERVER, MODEL]
        result = context.run({"x": [np.array([1, 2], np.int8)]}, {"y": RAW})
        assert result["y"][0].tolist() == [3, 4]
        assert b"content-type: application/json" in server.requests[3].lower()
        assert len(server.requests) == 4
        context.close()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (http(422, b'{"detail":[{"loc":["body","x"],"msg":"no number","input":1}]}'), "body.x: no"),
        (http(500, b"Internal Server Error"), "Internal Server Error"),
    ],
)
def test_refusals_of_a_framework(answer: bytes, message: str) -> None:
    """The caller gets the error text of a server's HTTP framework."""
    answers = {
        SERVER: json_reply(name="other"),
        MODEL: json_reply(name="m"),
        f"{MODEL}/infer": answer,
    }
    with answering(answers) as server:
        context = InferContext(server.address, ProtocolType.HTTP, "m")
        with pytest.raises(InferenceServerException) as caught:
            context.run({"x": [np.zeros(1)]}, {"y": RAW})
        assert str(caught.value.message()).startswith(message)
        assert caught.value.server_id() == "other"
        context.close()


def test_version_that_is_not_obeyed() -> None:
    """A reply from another version than the requested version is an error."""
    output = {"name": "y", "datatype": "INT8", "shape": [1, 1], "data": [3]}
    answers = {
        SERVER: json_reply(name="other"),
        MODEL: json_reply(name="m"),
        f"{MODEL}/versions/2/infer": json_reply(
            model_name="m", model_version="1", outputs=[output]
        ),
    }
    with answering(answers) as server:
        context = InferContext(server.address, ProtocolType.HTTP, "m", 2)
        with pytest.raises(InferenceServerException, match="version 2, .* in version 1"):
            context.run({"x": [np.zeros(1)]}, {"y": RAW})
        context.close()

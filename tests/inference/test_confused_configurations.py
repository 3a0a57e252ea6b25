"""Configurations that were read while a proxy was confused: the next replies correct them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.infer_cases import RAW
from tests.scripted_triton import (
    ReceivedRequest,
    ScriptedReply,
    configuration,
    json_reply,
    scripted_triton,
    tensor_reply,
)

INPUTS = {"X": [np.zeros(1, np.int32)] * 2}
TEXTS = b"\x03\0\0\0one\x03\0\0\0two"
NUMBERS = np.arange(2, dtype=np.int32).tobytes()


def as_shape_tensor(config: dict[str, Any]) -> None:
    """Let the output be a shape tensor."""
    config["output"][0]["is_shape_tensor"] = True


def as_numbers(config: dict[str, Any]) -> None:
    """Let the output have numbers."""
    config["output"][0]["data_type"] = "TYPE_FP32"


#: What confuses the configuration, datatype and data of the replies, and the right results.
CASES: dict[str, Any] = {
    "a shape tensor": (as_shape_tensor, "INT32", NUMBERS, [0, 1]),
    "numbers for strings": (as_numbers, "BYTES", TEXTS, [b"one", b"two"]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("style", ["run", "async_run"])
def test_one_call_may_fail(name: str, style: str) -> None:
    """After a confused configuration one call may fail. The next ones return the right result."""
    confuse, datatype, data, expected = CASES[name]
    confused = [True]

    def script(request: ReceivedRequest) -> ScriptedReply:
        if request.is_inference:
            wire_id = request.header["id"]
            return tensor_reply("Y", datatype, [2, 1], data, request_id=wire_id)
        config = configuration({"BYTES": "STRING"}.get(datatype, datatype), [1], 8)
        if confused[0]:
            confuse(config)
        return json_reply(config)

    def fetch(context: InferContext) -> Any:
        if style == "run":
            return context.run(INPUTS, {"Y": RAW}, 2)
        request_id: Any = context.async_run(INPUTS, {"Y": RAW}, 2)
        return context.get_async_run_results(request_id, True)

    with scripted_triton(script) as server, InferContext(server.url, 0, "m") as context:
        confused[0] = False
        with suppress(InferenceServerException):
            fetch(context)
        for _ in range(2):
            assert [array.item() for array in fetch(context)["Y"]] == expected


def test_the_reply_to_another_request() -> None:
    """The reply to another request makes the context read the configuration again."""

    def script(request: ReceivedRequest) -> ScriptedReply:
        if request.is_inference:
            return tensor_reply("Y", "INT32", [1], bytes(4), request_id="another")
        return json_reply(configuration("INT32", [1]))

    with scripted_triton(script) as server, InferContext(server.url, 0, "m") as context:
        asked = len(server.configurations)
        with pytest.raises(InferenceServerException, match="could not be read"):
            context.run({"X": INPUTS["X"][:1]}, {"Y": RAW})
        assert len(server.configurations) == asked + 1

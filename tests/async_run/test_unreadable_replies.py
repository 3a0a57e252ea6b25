"""Replies that cannot be made into results: every request is completed, with an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.infer_cases import RAW, Completions
from tests.scripted_triton import (
    ReceivedRequest,
    ScriptedReply,
    ScriptedTriton,
    configuration,
    json_reply,
    scripted_triton,
    tensor_reply,
)

INPUTS = {"X": [np.zeros(1, np.int32)]}

#: Datatype of the output, shape and data of the replies, part of the message.
ODD_REPLIES = {
    "a type without arrays": ("BF16", [2], bytes(4), "unknown result datatype"),
    "an impossible size": ("INT32", [2**62, 0], b"", "could not be read"),
    "strings that end early": ("BYTES", [2], b"\x05\x00\x00\x00ab", "could not be read"),
}


@pytest.fixture(params=ODD_REPLIES, ids=[name.replace(" ", "-") for name in ODD_REPLIES])
def odd_reply(request: pytest.FixtureRequest) -> Any:
    """Return the row of a reply."""
    return ODD_REPLIES[request.param]


def odd_server(odd_reply: Any) -> Any:
    """Return a server whose inferences get the reply."""
    datatype, shape, data, _ = odd_reply

    def script(request: ReceivedRequest) -> ScriptedReply:
        if request.is_inference:
            wire_id = request.header.get("id", "")
            return tensor_reply("Y", datatype, shape, data, request_id=wire_id)
        v1_name = {"BYTES": "STRING"}.get(datatype, datatype)
        return json_reply(configuration(v1_name, [-1] * len(shape)))

    return scripted_triton(script)


def check_callbacks(server: ScriptedTriton, message: str) -> None:
    """Check that each of three requests has one callback, and a fetch that raises."""
    completions = Completions()
    with InferContext(server.url, 0, "m") as context:
        for count in (1, 2, 3):
            context.async_run(completions, INPUTS, {"Y": RAW})
            (request_id,) = set(completions.wait(count)[count - 1 :])
            with pytest.raises(InferenceServerException, match=message):
                context.get_async_run_results(request_id)


def test_callbacks_come_once(odd_reply: Any) -> None:
    """Each callback comes once, and its fetch raises InferenceServerException."""
    with odd_server(odd_reply) as server:
        check_callbacks(server, odd_reply[3])


def test_every_run_raises(odd_reply: Any) -> None:
    """Every run raises InferenceServerException, the second one too."""
    with odd_server(odd_reply) as server, InferContext(server.url, 0, "m") as context:
        for _ in range(3):
            with pytest.raises(InferenceServerException, match=odd_reply[3]):
                context.run(INPUTS, {"Y": RAW})


def test_no_memory_for_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback comes also if there is no memory for the result. The fetch raises."""
    reply = ("INT32", [2], np.arange(2, dtype=np.int32).tobytes(), "")
    with odd_server(reply) as server, InferContext(server.url, 0, "m") as context:
        context.run(INPUTS, {"Y": RAW})

        def no_memory(*_: object, **__: object) -> Any:
            raise MemoryError

        monkeypatch.setattr(np, "frombuffer", no_memory)
        completions = Completions()
        context.async_run(completions, INPUTS, {"Y": RAW})
        (request_id,) = completions.wait()
        with pytest.raises(InferenceServerException, match="MemoryError"):
            context.get_async_run_results(request_id)

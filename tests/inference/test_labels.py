"""Labels of classes, which the server is asked for once more after a reply."""

from __future__ import annotations

import struct
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.infer_cases import CLASS, RAW, Completions
from tests.scripted_triton import (
    ReceivedRequest,
    ScriptedReply,
    ScriptedTriton,
    configuration,
    json_reply,
    refusal,
    scripted_triton,
    tensor_reply,
)
from tritonclient_shim.session import models

SCORES = np.array([[1, 3], [2, 0]], np.float32)
INPUTS = {"X": [np.array([5], np.int32), np.array([6], np.int32)]}
OUTPUTS = {"Y": (CLASS, 1)}


class LabelServer:
    """A script for a server with a model that classifies; it counts the questions for labels.

    ``labels`` are the names of its classes. ``refused`` is its answer to a question for labels.
    """

    def __init__(self) -> None:
        self.labels = ["a", "b"]
        self.refused: ScriptedReply | None = None
        self.questions: list[ReceivedRequest] = []
        self.act: Callable[[], object] = lambda: None

    def __call__(self, request: ReceivedRequest) -> ScriptedReply:
        if not request.is_inference:
            config = configuration("FP32", [2], 8)
            config["output"][0]["label_filename"] = "labels.txt"
            return json_reply(config)
        header = request.header
        wire_id = header.get("id", "")
        if not request.wants_classes:
            self.act()
            data = SCORES.tobytes()
            return tensor_reply("Y", "FP32", [2, 2], data, request_id=wire_id)
        self.questions.append(request)
        if self.refused is not None:
            return self.refused
        rows = header["inputs"][0]["shape"][0]
        texts = [f"{3 - i}.000000:{i}:{name}".encode() for i, name in enumerate(self.labels)] * rows
        data = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        return tensor_reply("Y", "BYTES", [rows, 2], data, request_id=wire_id)


@pytest.fixture
def script() -> LabelServer:
    """Return the script of the server."""
    return LabelServer()


@pytest.fixture
def server(script: LabelServer) -> Iterator[ScriptedTriton]:
    """Yield the server."""
    with scripted_triton(script) as scripted:
        yield scripted


def labels(results: Any) -> list[str]:
    """Return the label of the best class of each batch entry."""
    return [entry[0][2] for entry in results["Y"]]


def classify(context: InferContext) -> list[str]:
    """Return the label of the best class of each batch entry."""
    return labels(context.run(INPUTS, OUTPUTS, 2))


def test_contexts_share_labels(server: ScriptedTriton, script: LabelServer) -> None:
    """Contexts of one server and model ask once for its labels."""
    with InferContext(server.url, 0, "m") as first, InferContext(server.url, 0, "m") as second:
        assert [classify(first), classify(second), classify(first)] == [["b", "a"]] * 3
    assert len(script.questions) == 1


def test_the_question_has_the_first_entry(server: ScriptedTriton, script: LabelServer) -> None:
    """The question for labels has the first batch entry alone."""
    with InferContext(server.url, 0, "m") as context:
        classify(context)
    (question,) = script.questions
    assert question.header["inputs"][0]["shape"] == [1, 1]
    assert question.body.endswith(INPUTS["X"][0].tobytes())


@pytest.mark.parametrize("style", ["callback", "id"])
def test_arrays_that_change_after_async_run(
    server: ScriptedTriton, script: LabelServer, style: str
) -> None:
    """The question for labels has the bytes that were sent, whatever the arrays contain now."""
    arrays = [array.copy() for array in INPUTS["X"]]
    with InferContext(server.url, 0, "m") as context:
        completions = Completions()
        arguments = [completions] if style == "callback" else []
        request_id: Any = context.async_run(*arguments, {"X": arrays}, OUTPUTS, 2)
        arrays[0][:] = 99
        if style == "callback":
            (request_id,) = completions.wait()
        assert labels(context.get_async_run_results(request_id, True)) == ["b", "a"]
    (question,) = script.questions
    assert question.body.endswith(INPUTS["X"][0].tobytes())


def test_a_refused_request_keeps_no_old_labels(
    server: ScriptedTriton, script: LabelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels are fetched again after some seconds, also if requests are refused meanwhile."""
    now = [1000.0]
    monkeypatch.setattr(models, "monotonic", lambda: now[0])
    with InferContext(server.url, 0, "m") as context:
        assert classify(context) == ["b", "a"]
        script.labels = ["c", "d"]
        for _ in range(3):
            now[0] += models.BELIEVED / 2
            with pytest.raises(InferenceServerException, match="unknown input"):
                context.run({"Z": INPUTS["X"]}, OUTPUTS, 2)
        assert classify(context) == ["d", "c"]


def test_a_refused_question_leaves_the_result(server: ScriptedTriton, script: LabelServer) -> None:
    """A refused question for labels leaves the result, without labels, and is repeated later."""
    script.refused = refusal("you may not ask for this", 403)
    with InferContext(server.url, 0, "m") as context:
        for _ in range(2):
            result = context.run(INPUTS, OUTPUTS, 2)
            assert result == {"Y": [[(1, 3.0, "")], [(0, 2.0, "")]]}
        script.refused = None
        assert classify(context) == ["b", "a"]


def test_a_refused_question_leaves_known_labels(
    server: ScriptedTriton, script: LabelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the labels cannot be fetched again, the known ones stay."""
    now = [1000.0]
    monkeypatch.setattr(models, "monotonic", lambda: now[0])
    with InferContext(server.url, 0, "m") as context:
        assert classify(context) == ["b", "a"]
        now[0] += 2 * models.BELIEVED
        script.refused = refusal("not now", 500)
        assert classify(context) == ["b", "a"]
        assert len(script.questions) == 2


def test_a_busy_server(
    server: ScriptedTriton, script: LabelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is too busy for a question is asked again only after a pause."""
    now = [1000.0]
    monkeypatch.setattr(models, "monotonic", lambda: now[0])
    script.refused = refusal("Exceeds maximum queue size", 503)
    with InferContext(server.url, 0, "m") as context:
        assert [classify(context) for _ in range(5)] == [["", ""]] * 5
        assert len(script.questions) == 1
        script.refused = None
        now[0] += 2 * models.LABELS_PAUSE
        assert classify(context) == ["b", "a"]


def test_a_busy_server_is_not_asked_for_the_configuration(
    server: ScriptedTriton, script: LabelServer
) -> None:
    """A request that a busy server refuses costs no question for the configuration."""
    with InferContext(server.url, 0, "m") as context:
        asked = len(server.configurations)
        server.script = lambda request: (
            refusal("Exceeds maximum queue size", 503) if request.is_inference else script(request)
        )
        for _ in range(3):
            with pytest.raises(InferenceServerException, match="Exceeds maximum queue size"):
                context.run(INPUTS, {"Y": RAW}, 2)
        assert len(server.configurations) == asked

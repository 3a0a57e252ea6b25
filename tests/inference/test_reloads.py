"""A model that is reloaded while a context, a raw stub or a gateway uses it."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple

import grpc
import numpy as np
import pytest
from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as v2

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelControlContext,
    grpc_service_pb2_grpc,
)
from testbed import TritonServer, repository
from tests.backends import answering_servers
from tests.backends.answering_servers import (
    GrpcAnswers,
    HttpAnswers,
    model_config,
    output,
    reply,
    with_data,
)
from tests.backends.scripted_server import SILENCE
from tests.infer_cases import CLASS, RAW
from tritonclient_shim.concurrency import questions
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.session import models

MODELS = ("classify", "classify_nolabels", "identity_fp32", "ensemble_classify")
SCORES = np.arange(10, dtype=np.float32)
ANSWERED = answering_servers.SCORES


class Reloading:
    """A server with its repository, whose models tests change."""

    def __init__(self, server: TritonServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.touched: set[str] = set()  # models that a test has changed
        self._changed = time.time()

    def change(self, model: str, old: str, new: str, file: str = "config.pbtxt") -> None:
        """Replace text in a model's file, and reload the model."""
        path = self.folder / model / file
        text = path.read_text("utf-8")
        assert re.search(old, text)
        path.write_text(re.sub(old, new, text), "utf-8")
        self.touched.add(model)
        self._load(model)

    def restore(self) -> None:
        """Reload the original models."""
        for model in self.touched:
            shutil.rmtree(self.folder / model)
        repository.write(self.folder, self.touched)
        for model in self.touched:
            self._load(model)
        self.touched.clear()

    def _load(self, model: str) -> None:
        self._changed += 2  # the server compares times of change in whole seconds
        for path in self.folder.glob(f"{model}/*.*"):
            os.utime(path, (self._changed, self._changed))
        with ModelControlContext(self.server.http, 0) as control:
            control.load(model)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reloading]:
    """Yield a server with a repository of its own."""
    folder = tmp_path_factory.mktemp("models")
    repository.write(folder, MODELS)
    with TritonServer.start(MODELS, repository=folder) as server:
        yield Reloading(server, folder)


@pytest.fixture
def reloading(running: Reloading) -> Iterator[Reloading]:
    """Yield the server; restore its models afterwards."""
    yield running
    running.restore()


def top(context: InferContext) -> Any:
    (result,) = context.run({"INPUT": [SCORES]}, {"OUTPUT": (CLASS, 1)})["OUTPUT"][0]
    return result


@pytest.mark.smoke
def test_other_labels(reloading: Reloading, protocol: int) -> None:
    """Labels are the server's current labels, also in a long-lived context."""
    # docs/v1-behaviour.md §4.2
    url = reloading.server.url(protocol)
    with InferContext(url, protocol, "classify") as context:
        assert [top(context) for _ in range(5)] == [(9, 9.0, "l9")] * 5
        reloading.change("classify", "l9", "nine", "labels.txt")
        assert top(context) == (9, 9.0, "nine")


def test_other_labels_by_another_process(
    reloading: Reloading, protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels that another process has changed are fetched again after some seconds."""
    url = reloading.server.url(protocol)
    with InferContext(url, protocol, "classify") as context:
        assert top(context) == (9, 9.0, "l9")
        with monkeypatch.context() as patch:
            patch.setattr(models, "note_load", lambda: None)
            reloading.change("classify", "l9", "nine", "labels.txt")
            assert top(context) == (9, 9.0, "l9")
            patch.setattr(models, "BELIEVED", 0.0)
            assert top(context) == (9, 9.0, "nine")


@pytest.mark.parametrize("streaming", [False, True])
def test_another_datatype(reloading: Reloading, protocol: int, streaming: bool) -> None:
    """A result has the model's current data type: 4 bytes of FP32 become 4 bytes of INT32."""
    if streaming and protocol == 0:
        return
    url = reloading.server.url(protocol)
    with InferContext(url, protocol, "identity_fp32", streaming=streaming) as context:
        inputs = {"INPUT0": [np.array([1.5, -2], np.float32)]}
        assert context.run(inputs, {"OUTPUT0": RAW})["OUTPUT0"][0].dtype == np.float32
        reloading.change("identity_fp32", "TYPE_FP32", "TYPE_INT32")
        (result,) = context.run(inputs, {"OUTPUT0": RAW})["OUTPUT0"]
        assert result.tobytes() == inputs["INPUT0"][0].tobytes()
        assert result.dtype == np.int32


@pytest.mark.smoke
def test_a_larger_batch(reloading: Reloading, protocol: int) -> None:
    """A batch size that a reload allows is sent, in every calling style."""
    url = reloading.server.url(protocol)
    with InferContext(url, protocol, "identity_fp32") as context:
        arrays = [np.array([1.5], np.float32)] * 9
        reloading.change("identity_fp32", "max_batch_size: 8", "max_batch_size: 16")
        results = context.run({"INPUT0": arrays}, {"OUTPUT0": RAW}, 9)
        assert len(results["OUTPUT0"]) == 9


def test_an_unloaded_model(reloading: Reloading, protocol: int) -> None:
    """Requests for an unloaded model are refused in v1's words, each time."""
    url = reloading.server.url(protocol)
    with InferContext(url, protocol, "identity_fp32") as context:
        inputs = {"INPUT0": [np.array([1.5, -2], np.float32)]}
        context.run(inputs, {"OUTPUT0": RAW})
        reloading.touched.add("identity_fp32")
        with ModelControlContext(url, protocol) as control:
            control.unload("identity_fp32")
        refusals = []
        for _ in range(3):
            with pytest.raises(InferenceServerException, match="unknown model") as caught:
                context.run(inputs, {"OUTPUT0": RAW})
            refusals.append((caught.value.message(), caught.value.server_id()))
            with pytest.raises(InferenceServerException, match="exceeds maximum batch size 8"):
                context.run(inputs, {"OUTPUT0": RAW}, 9)
        assert len(set(refusals)) == 1
        assert refusals[0][1] == "triton"


def test_the_raw_stub(reloading: Reloading) -> None:
    """A stub answers a request for a reloaded model as a new stub does."""
    with grpc.insecure_channel(reloading.server.grpc) as channel:
        stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
        request = pb.InferRequest(model_name="classify", model_version=-1)
        request.meta_data.batch_size = 1
        request.meta_data.input.add(name="INPUT")
        request.meta_data.output.add(name="OUTPUT").cls.count = 1
        request.raw_input.append(SCORES.tobytes())
        result = stub.Infer(request).meta_data.output[0].batch_classes[0].cls[0].label
        assert result == "l9"
        reloading.change("classify", "l9", "nine", "labels.txt")
        result = stub.Infer(request).meta_data.output[0].batch_classes[0].cls[0].label
        assert result == "nine"


# ----------------------------------------- replies that do not fit the cached configuration


@pytest.fixture
def answering() -> Iterator[HttpAnswers]:
    """Yield a server whose replies tests choose. Triton's own always fit its configuration."""
    with HttpAnswers() as server:
        yield server


def run(context: InferContext) -> Any:
    (result,) = context.run({"IN": [ANSWERED]}, {"OUT": RAW})["OUT"]
    return result


def times_configured(server: HttpAnswers) -> int:
    """Return how often the model's configuration was requested."""
    return sum(b"/config " in request for request in server.requests)


class Confused(NamedTuple):
    """A wrong description of a model, and the refusal that follows from it."""

    change: Callable[[dict[str, Any]], object]
    refusal: str


CONFUSED = {
    "datatype": Confused(
        lambda config: config["input"][0].update(data_type="TYPE_FP64"),
        "invalid size 8 bytes for input 'IN', expects 16 bytes",
    ),
    "input": Confused(
        lambda config: config["input"][0].update(name="OTHER"), "unknown input 'IN' for 'm'"
    ),
    "output": Confused(
        lambda config: config["output"][0].update(name="OTHER"), "unknown output 'OUT' for 'm'"
    ),
    "decoupled": Confused(
        lambda config: config.update(model_transaction_policy={"decoupled": True}),
        "doesn't support models with decoupled transaction policy",
    ),
}


@pytest.fixture(params=CONFUSED)
def confused(request: pytest.FixtureRequest) -> Confused:
    """Return a wrong description of the model."""
    return CONFUSED[request.param]


def in_confusion(confused: Confused, protocol: int) -> Any:
    """Return the configuration reply of a server with a wrong description."""
    config = model_config()
    confused.change(config)
    if protocol == 0:
        return json.dumps(config).encode(), None
    content = v2.ModelConfigResponse()
    json_format.ParseDict({"config": config}, content)
    return content.SerializeToString()


@pytest.mark.parametrize("later", [False, True], ids=["run", "async_run"])
def test_a_confused_configuration(confused: Confused, protocol: int, later: bool) -> None:
    """A context made under a wrong description works once the server's description is right."""
    with (GrpcAnswers if protocol else HttpAnswers)() as server:
        server.replaced["config"] = in_confusion(confused, protocol)
        with InferContext(server.address, protocol, "m") as context:
            with pytest.raises(InferenceServerException, match=confused.refusal):
                run(context)
            del server.replaced["config"]
            if later:
                id = context.async_run({"IN": [ANSWERED]}, {"OUT": RAW})
                (result,) = context.get_async_run_results(id, True)["OUT"]
            else:
                result = run(context)
            assert result.tolist() == ANSWERED.tolist()


def test_a_right_refusal(answering: HttpAnswers) -> None:
    """A refusal that follows from a right configuration has v1's text and costs one request."""
    with InferContext(answering.address, 0, "m") as context:
        for requests in (2, 3, 4):
            with pytest.raises(InferenceServerException) as caught:
                context.run({"OTHER": [ANSWERED]}, {"OUT": RAW})
            assert str(caught.value) == "[ 0] unknown input 'OTHER' for 'm'"
            assert times_configured(answering) == requests


def test_a_refusal_while_the_server_hangs(
    answering: HttpAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal waits only a limited time for a server that does not answer."""
    monkeypatch.setattr(questions, "ANSWERED_WITHIN", 0.1)
    with InferContext(answering.address, 0, "m") as context:
        monkeypatch.setattr(answering, "_answer", lambda _: SILENCE)
        with pytest.raises(InferenceServerException, match="unknown input"):
            context.run({"OTHER": [ANSWERED]}, {"OUT": RAW})


def test_answers_that_never_fit(answering: HttpAnswers) -> None:
    """If the configuration is unchanged, the next replies are read without a request for it."""
    result = reply()
    result["outputs"][1]["name"] = "UNKNOWN"
    answering.replaced["infer"] = with_data(result, 2 * ANSWERED.tobytes())
    with InferContext(answering.address, 0, "m") as context:
        assert [run(context).tolist() for _ in range(3)] == [ANSWERED.tolist()] * 3
    assert times_configured(answering) == 2


def test_an_answer_of_another_size(answering: HttpAnswers) -> None:
    """A reply that does not fit the current configuration is a client error."""
    wide = output(datatype="FP64", parameters={"binary_data_size": 16})
    answering.replaced["infer"] = with_data(wide, 2 * ANSWERED.tobytes())
    unreadable = pytest.raises(InferenceServerException, match="could not be read: .*reshape")
    with InferContext(answering.address, 0, "m") as context, unreadable as caught:
        run(context)
    assert (caught.value.server_id(), caught.value.request_id()) == ("", 0)

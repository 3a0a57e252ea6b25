"""What the server, or somebody in its place, answers instead of a result
(docs/v1-behaviour.md §3.4, §4.7, §1.6).
"""

from __future__ import annotations

import pickle
import traceback
from typing import Any, Iterator

import numpy as np
import pytest
import tritonclient.utils

from tensorrtserver.api import InferContext, InferenceServerException, ModelControlContext
from tests.server.infer_cases import CLASS, ONE, RAW, Completions, client_error, fp32, server_error
from tests.server.odd_servers import foreign_server
from tritonclient_shim.core.errors import cause_of

pytest_plugins = ["tests.server.infer_fixtures"]


@pytest.fixture
def spare(triton: Any) -> Iterator[Any]:
    """The control of model ``spare``, loaded for this test."""
    with ModelControlContext(triton.grpc, 1) as control:
        control.load("spare")
        yield control
        control.load("spare")
        control.unload("spare")


@pytest.mark.smoke
def test_shape(connect: Any) -> None:
    """Shape: v1's sentence, without batch dimension and v2's NOTE (docs/v1-behaviour.md §3.4)."""
    message = "unexpected shape for input 'INPUT0' for model 'identity_nobatch'. Expected "
    with pytest.raises(InferenceServerException) as caught:
        connect("identity_nobatch").run({"INPUT0": [np.zeros(3, np.float32)]}, ONE)
    assert caught.value.message() == f"{message}[-1,-1], got [3]"
    with pytest.raises(InferenceServerException) as caught:
        connect("identity_2d").run({"INPUT0": [np.zeros(3, np.float32)] * 2}, ONE, 2)
    assert caught.value.message() == (
        "unexpected shape for input 'INPUT0' for model 'identity_2d'. Expected [-1,-1], got [3]"
    )


def test_model_unloaded_after_construction(connect: Any, spare: Any) -> None:
    """Model not loaded: Triton's own sentence, the wording of 1.13 to 1.15."""
    # docs/v1-behaviour.md §3.4
    context = connect("spare")
    assert len(context.run(fp32(1), ONE)) == 1
    spare.unload("spare")
    with server_error("Request for unknown model: 'spare' "):
        context.run(fp32(1), ONE)
    spare.load("spare")
    assert context.run(fp32(1), ONE)["OUTPUT0"][0].tolist() == [1]


def test_context_on_an_unloaded_model(connect: Any, spare: Any) -> None:
    """Model not loaded: the context can be made, the request fails, until it is loaded."""
    # docs/v1-behaviour.md §3.4
    spare.unload("spare")
    context = connect("spare")
    assert context.get_last_request_id() is None
    for _ in range(2):
        with server_error("Request for unknown model: 'spare' has no available versions"):
            context.run(fp32(1), ONE)
    spare.load("spare")
    assert context.run(fp32(1), ONE)["OUTPUT0"][0].tolist() == [1]


def test_async_refusal(connect: Any) -> None:
    """The server's refusal of an asynchronous request is told by the fetch."""
    # docs/v1-behaviour.md §3.4, §5
    context, done = connect("multi_version", 99), Completions()
    context.async_run(done, fp32(1), ONE)
    (request_id,) = done.wait()
    with server_error("Request for unknown model: 'multi_version' version 99 is not found"):
        context.get_async_run_results(request_id)


@pytest.mark.smoke
def test_exception_class(connect: Any) -> None:
    """Module, traceback, and a subclass of tritonclient's exception (docs/v1-behaviour.md §1.6)."""
    assert issubclass(InferenceServerException, tritonclient.utils.InferenceServerException)
    with pytest.raises(tritonclient.utils.InferenceServerException) as caught:
        connect("failing").run(fp32(3), ONE)
    error = caught.value
    assert type(error) is InferenceServerException
    assert cause_of(error) is not None
    last_line = traceback.format_exception(type(error), error, None)[-1]
    assert last_line.startswith("tensorrtserver.api.InferenceServerException: [triton ")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)


CONFIG = (
    b'{"name":"m","backend":"python","max_batch_size":8,'
    b'"input":[{"name":"INPUT0","data_type":"TYPE_FP32","dims":[1]}],'
    b'"output":[{"name":"OUTPUT0","data_type":"TYPE_FP32","dims":[1]}]}'
)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>hello</html>"),
        (200, b""),
        (500, b"Internal Server Error"),
        (404, b"{}"),
        (502, b'{"error": 5}'),
    ],
)
@pytest.mark.parametrize("style", ["run", "async_run"])
def test_http_answer_of_somebody_else(status: int, body: bytes, style: str) -> None:
    """No status in the answer, 500 pages: ``infer request did not return status``."""
    # docs/v1-behaviour.md §4.7
    with foreign_server(200, CONFIG) as foreign, InferContext(foreign.url, 0, "m") as context:
        foreign.status, foreign.body = status, body
        with client_error("infer request did not return status"):
            if style == "run":
                context.run(fp32(1), ONE)
            else:
                context.get_async_run_results(context.async_run(fp32(1), ONE))


def test_http_answer_without_results() -> None:
    """An answer that lacks the output is no result (docs/v1-behaviour.md §4.7, §4.1)."""
    with foreign_server(200, CONFIG) as foreign, InferContext(foreign.url, 0, "m") as context:
        foreign.body = b'{"model_name":"m","model_version":"1","outputs":[]}'
        with client_error("unable to find result for output 'OUTPUT0'"):
            context.run(fp32(1), ONE)
        assert context.run(fp32(1), {}) == {}


def test_labels_of_a_server_without_classification() -> None:
    """A v2 server that tells no classes has no labels; the classes are found here."""
    # docs/v1-behaviour.md §4.2
    labelled = CONFIG.replace(b'"dims":[1]}]}', b'"dims":[3],"label_filename":"labels.txt"}]}')
    reply = b'{"model_name":"m","model_version":"v2.0","outputs":[%s]}'
    scores = b'{"name":"OUTPUT0","datatype":"FP32","shape":[1,3],"data":[1,3,2]}'
    with foreign_server(200, labelled) as foreign, InferContext(foreign.url, 0, "m") as context:
        foreign.body = reply % scores
        (found,) = context.run(fp32(1), {"OUTPUT0": (CLASS, 2)})["OUTPUT0"]
        assert [tuple(one) for one in found] == [(1, 3.0, ""), (2, 2.0, "")]
        assert context.get_last_request_model_version() == -1


def test_headers_go_with_every_request() -> None:
    """http_headers go with inference requests, synchronous or not (docs/v1-behaviour.md §6.6)."""
    with foreign_server(200, CONFIG) as foreign:
        context = InferContext(foreign.url, 0, "m", http_headers=[b"X-A: 1", "X-B:2"])
        with context:
            for call in (
                lambda: context.run(fp32(1), ONE),
                lambda: context.get_async_run_results(context.async_run(fp32(1), ONE)),
            ):
                with pytest.raises(InferenceServerException, match="did not return status"):
                    call()
        sent = [dict(headers) for _, _, headers in foreign.requests]
    assert [(one["X-A"].strip(), one["X-B"]) for one in sent] == [("1", "2")] * 3
    assert [method for method, _, _ in foreign.requests] == ["GET", "POST", "POST"]


def test_ensemble_refusal(connect: Any) -> None:
    """Ids of v2's requests are taken out of ensembles' messages, too."""
    # docs/v1-behaviour.md §E.10, §B
    small = np.zeros(4, np.int32)
    with pytest.raises(InferenceServerException) as caught:
        connect("ensemble_simple").run({"INPUT0": [small], "INPUT1": [small]}, ONE)
    assert "request id" not in caught.value.message()


@pytest.mark.smoke
def test_context_lives_on(connect: Any) -> None:
    """After each refusal the next good request is answered (docs/v1-behaviour.md §3.4)."""
    context = connect("failing")
    for _ in range(3):
        with server_error("the model refused value 3"):
            context.run(fp32(3), ONE)
        assert context.run(fp32(0), ONE)["OUTPUT0"][0].tolist() == [0]


def test_other_rows_of_a_batch(connect: Any) -> None:
    """A batch is refused as a whole (docs/v1-behaviour.md §3.4)."""
    with server_error("the model refused value 5"):
        connect("failing").run(fp32(0, 5, 0), {"OUTPUT0": RAW}, 3)

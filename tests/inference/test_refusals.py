"""Replies that are no result, of the server or of another.

(docs/v1-behaviour.md §3.4, §4.7, §1.6)
"""

from __future__ import annotations

import ctypes
import pickle
import traceback
from typing import Any

import numpy as np
import pytest
import tritonclient.utils

from tensorrtserver.api import InferContext, InferenceServerException
from tests.infer_cases import ONE, add_sub, client_error, fp32, server_error
from tests.odd_servers import foreign_server
from tritonclient_shim.core.errors import cause_of


@pytest.mark.smoke
def test_shape(connect: Any) -> None:
    """The error of a wrong shape has v1's text, without batch dimension and without v2's note."""
    # docs/v1-behaviour.md §3.4
    message = "unexpected shape for input 'INPUT0' for model 'identity_nobatch'. Expected "
    with pytest.raises(InferenceServerException) as caught:
        connect("identity_nobatch").run({"INPUT0": [np.zeros(3, np.float32)]}, ONE)
    assert caught.value.message() == f"{message}[-1,-1], got [3]"
    with pytest.raises(InferenceServerException) as caught:
        connect("identity_2d").run({"INPUT0": [np.zeros(3, np.float32)] * 2}, ONE, 2)
    assert caught.value.message() == (
        "unexpected shape for input 'INPUT0' for model 'identity_2d'. Expected [-1,-1], got [3]"
    )


@pytest.mark.smoke
def test_exception_class(connect: Any) -> None:
    """The error's module and traceback are v1's, and its class derives from tritonclient's."""
    # docs/v1-behaviour.md §1.6
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


class Handle(ctypes.c_void_p):
    """A pointer of another class than v1's handles."""


def test_arguments_of_another_kind(connect: Any) -> None:
    """A format that is none, and a handle of another class, are refused with v1's texts."""
    # docs/v1-behaviour.md §3.8, §7.4
    context, inputs = connect("simple"), add_sub()
    with client_error("unrecognized output format"):
        context.run(inputs, {"OUTPUT0": (3, 1)})
    with pytest.raises(InferenceServerException) as caught:
        context.run({**inputs, "INPUT0": Handle()}, ONE)
    assert caught.value.message().startswith("input 'INPUT0' values must be specified as a list")


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
    """A reply without status, such as a 500 page, gives ``infer request did not return status``."""
    # docs/v1-behaviour.md §4.7
    with foreign_server(200, CONFIG) as foreign, InferContext(foreign.url, 0, "m") as context:
        foreign.status, foreign.body = status, body
        with client_error("infer request did not return status"):
            if style == "run":
                context.run(fp32(1), ONE)
            else:
                context.get_async_run_results(context.async_run(fp32(1), ONE))


@pytest.mark.smoke
def test_http_answer_without_results() -> None:
    """A reply that lacks the output is an error (docs/v1-behaviour.md §4.7, §4.1)."""
    with foreign_server(200, CONFIG) as foreign, InferContext(foreign.url, 0, "m") as context:
        foreign.body = b'{"model_name":"m","model_version":"1","outputs":[]}'
        with client_error("unable to find result for output 'OUTPUT0'"):
            context.run(fp32(1), ONE)
        assert context.run(fp32(1), {}) == {}


@pytest.mark.smoke
def test_headers_go_with_every_request() -> None:
    """http_headers go with the constructor's request and with inferences."""
    # docs/v1-behaviour.md §6.6
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
    assert [(item["X-A"].strip(), item["X-B"]) for item in sent] == [("1", "2")] * 3
    assert [method for method, _, _ in foreign.requests] == ["GET", "POST", "POST"]


@pytest.mark.smoke
def test_context_lives_on(connect: Any) -> None:
    """After each refusal the next correct request succeeds (docs/v1-behaviour.md §3.4)."""
    context = connect("failing")
    for _ in range(3):
        with server_error("the model refused value 3"):
            context.run(fp32(3), ONE)
        assert context.run(fp32(0), ONE)["OUTPUT0"][0].tolist() == [0]

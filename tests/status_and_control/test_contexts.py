"""Contexts that do no inference (docs/v1-behaviour.md §6, §2.3, §3.1, §6.3, §6.4, §6.6, §E.11)."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from typing import Any, Callable

import pytest

from tensorrtserver.api import (
    InferenceServerException,
    ModelControlContext,
    ModelRepositoryContext,
    ServerHealthContext,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from tests.odd_servers import foreign_server
from tests.own_interpreter import run_program

#: Each context with a call that changes nothing, and a check of the reply.
CALLS: dict[Any, Callable[[Any], bool]] = {
    ServerHealthContext: lambda context: context.is_live(),
    ServerStatusContext: lambda context: "simple" in context.get_server_status().model_status,
    ModelRepositoryContext: lambda context: (
        "simple" in [model.name for model in context.get_model_repository_index().models]
    ),
    ModelControlContext: lambda context: context.unload("no_such_model") is None,
    SharedMemoryControlContext: lambda context: context.get_shared_memory_status().IsInitialized(),
}


@pytest.fixture(params=CALLS, ids=lambda context: context.__name__)
def context_class(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_construction_sends_nothing(context_class: Any, protocol: int) -> None:
    """A constructor sends nothing, sets ``_ctx``, and has request id 0."""
    # docs/v1-behaviour.md §6
    context = context_class("127.0.0.1:1", protocol)
    assert context.get_last_request_id() == 0
    assert context._ctx is not None


def test_deletion_closes(context_class: Any, url: str, protocol: int) -> None:
    """``__del__`` calls ``close``, also the one of a user's subclass (docs/v1-behaviour.md §6)."""
    closed: list[str] = []

    class Mine(context_class):
        def close(self) -> None:
            closed.append("mine")
            context_class.close(self)

    context = Mine(url, protocol)
    CALLS[context_class](context)
    session = context._ctx
    del context
    gc.collect()
    assert closed == ["mine"]
    assert "backend" not in vars(session)


def test_failed_construction_is_quiet(context_class: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """``__del__`` prints nothing after a constructor that failed."""
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(TypeError, match="'protocol'"):
        context_class("localhost:8000")
    with pytest.raises(InferenceServerException, match="unexpected protocol integer"):
        context_class("localhost:8000", 2)
    gc.collect()
    assert ignored == []


@pytest.mark.parametrize("form", ["{0}", "http://{0}", "{0}/", "grpc://{0}", "bytes"])
def test_url_forms(context_class: Any, url: str, protocol: int, form: str) -> None:
    """A url may be str or bytes, with a scheme of either protocol and a trailing slash."""
    address = url.encode() if form == "bytes" else form.format(url)
    with context_class(address, protocol) as context:
        assert CALLS[context_class](context)


def test_http_to_a_grpc_port(triton: Any) -> None:
    """A reply that is not HTTP is a client error, never a wrong result."""
    expected = pytest.raises(InferenceServerException, match=r"^\[ 0\] HTTP client failed: ")
    with ServerStatusContext(triton.grpc, 0) as context, expected:
        context.get_server_status()


def test_grpc_to_an_http_port(triton: Any) -> None:
    """gRPC to an HTTP port fails with v1's text (docs/v1-behaviour.md §3.1)."""
    expected = pytest.raises(InferenceServerException, match="Stream removed")
    with ServerStatusContext(triton.http, 1) as context, expected as caught:
        context.get_server_status()
    assert str(caught.value) == "[ 0] GRPC client failed: 2: Stream removed"


FOREIGN = {
    ServerStatusContext: ("status", [CALLS[ServerStatusContext]]),
    ModelRepositoryContext: ("status", [CALLS[ModelRepositoryContext]]),
    ModelControlContext: (
        "modelcontrol",
        [lambda context: context.load("m"), lambda context: context.unload("m")],
    ),
    SharedMemoryControlContext: (
        "sharedmemorycontrol",
        [CALLS[SharedMemoryControlContext], lambda context: context.unregister_all()],
    ),
}


@pytest.mark.parametrize("target", FOREIGN, ids=lambda target: target.__name__)
def test_foreign_server(target: Any) -> None:
    """An HTTP reply without NV-Status, also with 200, gives v1's text for each kind of request."""
    # docs/v1-behaviour.md §6.4, §6.5
    kind, calls = FOREIGN[target]
    bodies = [(200, b"<html>"), (200, b"[5]"), (200, b"null"), (404, b"<html>"), (500, b"")]
    for status, body in bodies:
        with foreign_server(status, body) as foreign, target(foreign.url, 0) as context:
            for call in calls:
                with pytest.raises(InferenceServerException) as caught:
                    call(context)
                assert str(caught.value) == f"[ 0] {kind} request did not return status"
                assert context.get_last_request_id() is None


def test_headers_are_sent(context_class: Any) -> None:
    """Headers go with every request, sorted, the last of each name, as str and as bytes."""
    http_headers = ["X-B:2", b"X-A: with:colon", "X-C:", "X-B:3"]
    with foreign_server(404) as foreign:
        context = context_class(foreign.url, 0, http_headers=http_headers)
        for _ in range(2):
            with suppress(InferenceServerException):
                CALLS[context_class](context)
        context.close()
        sent = [[h for h in headers if h[0].startswith("X-")] for _, _, headers in foreign.requests]
    assert len(sent) >= 2
    assert all(item == [("X-A", "with:colon"), ("X-B", "3")] for item in sent)


WITHOUT_GEVENT = """
import sys
import numpy
from tensorrtserver.api import *
url, ramp = sys.argv[1], numpy.arange(16, dtype=numpy.int32)
context = InferContext(url, ProtocolType.HTTP, "simple")
inputs, raw = {"INPUT0": [ramp], "INPUT1": [ramp]}, InferContext.ResultFormat.RAW
found = context.run(inputs, {"OUTPUT0": raw})
assert found["OUTPUT0"][0][15] == 30
ServerStatusContext(url, ProtocolType.HTTP).get_server_status()
ModelControlContext(url, ProtocolType.HTTP).unload("no_such_model")
print({"gevent", "geventhttpclient", "tritonclient.http", "grpc"} & set(sys.modules))
"""


def test_http_needs_no_gevent(triton: Any) -> None:
    """Calls over HTTP import neither gevent nor tritonclient's HTTP client."""
    assert run_program(WITHOUT_GEVENT, triton.http) == (0, "set()\n", "")

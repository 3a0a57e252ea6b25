"""What InferContext's constructor refuses, and in which words (docs/v1-behaviour.md §3.1)."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from testbed.process import free_ports
from tests.server.infer_cases import ONE, add_sub, client_error, fp32, server_error
from tests.server.odd_servers import foreign_server

pytest_plugins = ["tests.server.infer_fixtures"]

INTEGER = "unexpected protocol integer, expecting 0 for HTTP or 1 for gRPC"
HTTP_ONLY = "Streaming is only allowed with gRPC protocol"


@pytest.mark.parametrize(
    ("protocol", "error", "text"),
    [
        ("http", ValueError, "invalid literal for int() with base 10: 'http'"),
        (None, TypeError, "NoneType"),
        (2, InferenceServerException, INTEGER),
        (-1, InferenceServerException, INTEGER),
    ],
)
def test_impossible_protocol(protocol: Any, error: type[Exception], text: str) -> None:
    """What int() refuses raises its own error, another number v1's; no network."""
    # docs/v1-behaviour.md §1.5
    with pytest.raises(error) as caught:
        InferContext("nowhere:1", protocol, "simple", streaming=True)
    assert text in str(caught.value)


@pytest.mark.smoke
def test_unknown_model(connect: Any) -> None:
    """Unknown model: a server error in the constructor (docs/v1-behaviour.md §3.1)."""
    with server_error("no status available for unknown model 'nope'"):
        connect("nope")


def test_empty_model_name(connect: Any) -> None:
    """model_name '': the status has no such model (docs/v1-behaviour.md §3.1)."""
    with client_error('unable to find status information for ""'):
        connect("")


def test_server_that_refuses() -> None:
    """A server that has no time for the question is no server without the model."""
    # docs/v1-behaviour.md §3.1
    refusal = foreign_server(503, b'{"error": "shutting down"}')
    with refusal as server, pytest.raises(InferenceServerException) as caught:
        InferContext(server.url, 0, "simple")
    assert caught.value.message() == "shutting down"
    assert caught.value.request_id() > 0


def test_no_names(url: str, protocol: int) -> None:
    """url or model_name None: v1 ended the process; the error says what was expected."""
    # docs/v1-behaviour.md §3.1
    nothing: Any = None
    with client_error("model_name must be str or bytes, got None"):
        InferContext(url, protocol, nothing)
    with pytest.raises(InferenceServerException, match="url must be str or bytes"):
        InferContext(nothing, protocol, "simple")


@pytest.mark.parametrize("name", [5, ["simple"], 1.5])
def test_type_of_model_name(url: str, protocol: int, name: Any) -> None:
    """Other exceptions: a name that is no text is ctypes' error for argument 6."""
    # docs/v1-behaviour.md §1.6
    kind = type(name).__name__
    with pytest.raises(ctypes.ArgumentError) as caught:
        InferContext(url, protocol, name)
    assert str(caught.value) == (
        f"argument 6: <class 'AttributeError'>: '{kind}' object has no attribute 'encode'"
    )


@pytest.mark.parametrize(
    ("host", "texts"),
    [
        (
            "no-such-host.invalid:8000",
            {
                "HTTP client failed: Couldn't resolve host name",
                "GRPC client failed: 14: Name resolution failure",
            },
        ),
        (
            "a b",
            {
                "HTTP client failed: URL using bad/illegal format or missing URL",
                "GRPC client failed: 14: Name resolution failure",
            },
        ),
        (
            "",
            {
                "HTTP client failed: URL using bad/illegal format or missing URL",
                "GRPC client failed: 14: Name resolution failure",
            },
        ),
    ],
)
def test_unreachable_hosts(protocol: int, host: str, texts: set[str]) -> None:
    """Host unknown, url empty or garbage: client errors in v1's words."""
    # docs/v1-behaviour.md §3.1
    with pytest.raises(InferenceServerException) as caught:
        InferContext(host, protocol, "simple")
    assert caught.value.message() in texts
    assert (caught.value.server_id(), caught.value.request_id()) == ("", 0)
    assert str(caught.value.message()).startswith(("HTTP", "GRPC")[protocol])


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.smoke
def test_server_down(protocol: int, streaming: bool) -> None:
    """Server down: a client error, on each attempt, with a stream as well."""
    # docs/v1-behaviour.md §3.1
    url = f"127.0.0.1:{free_ports()[0]}"
    texts = ["HTTP client failed: Couldn't connect to server", "GRPC client failed: 14: "]
    message = HTTP_ONLY if streaming and not protocol else texts[protocol]
    for _ in range(2):
        with pytest.raises(InferenceServerException) as caught:
            InferContext(url, protocol, "simple", streaming=streaming)
        assert str(caught.value).startswith(f"[ 0] {message}")


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>hi</html>"), (200, b"{}"), (500, b""), (404, b"{}")],
)
def test_not_an_inference_server(status: int, body: bytes) -> None:
    """An answer of somebody else: ``status request did not return status``."""
    # docs/v1-behaviour.md §3.1
    with foreign_server(status, body) as foreign, client_error(
        "status request did not return status"
    ):
        InferContext(foreign.url, 0, "simple")


def test_wrong_port(triton: Any) -> None:
    """gRPC to an HTTP port: ``Stream removed``; HTTP to a gRPC port: a client error."""
    # docs/v1-behaviour.md §3.1
    with client_error("GRPC client failed: 2: Stream removed"):
        InferContext(triton.http, 1, "simple")
    with pytest.raises(InferenceServerException, match=r"^\[ 0\] HTTP client failed: "):
        InferContext(triton.grpc, 0, "simple")


def test_streaming_over_http() -> None:
    """streaming=True with HTTP: refused before any network (docs/v1-behaviour.md §3.1)."""
    with client_error(HTTP_ONLY):
        InferContext("nowhere.invalid:1", 0, "simple", streaming=True)


def test_reserved_header(connect: Any, protocol: int) -> None:
    """Header NV-InferRequest: refused over HTTP in exactly this case."""
    # docs/v1-behaviour.md §3.1
    connect("simple", http_headers=["nv-inferrequest:x"])
    if protocol:
        connect("simple", http_headers=["NV-InferRequest:x"])
        return
    with client_error("HTTP header 'NV-InferRequest' cannot be set"):
        connect("simple", http_headers=["NV-InferRequest:x"])


@pytest.mark.parametrize("version", ["1", 1.0, [1], b"1", np.float32(1)])
def test_type_of_model_version(version: Any) -> None:
    """model_version of a wrong type: ctypes' error for argument 7, before any network."""
    # docs/v1-behaviour.md §3.1
    with pytest.raises(ctypes.ArgumentError) as caught:
        InferContext("nowhere.invalid:1", 0, "simple", version)
    assert str(caught.value) == "argument 7: <class 'TypeError'>: wrong type"


@pytest.mark.parametrize("correlation_id", ["5", None, 1.5])
def test_type_of_correlation_id(correlation_id: Any) -> None:
    """correlation_id of a wrong type: ctypes' error for argument 8 (docs/v1-behaviour.md §3.1)."""
    with pytest.raises(ctypes.ArgumentError) as caught:
        InferContext("nowhere.invalid:1", 1, "simple", correlation_id=correlation_id)
    assert str(caught.value) == "argument 8: <class 'TypeError'>: wrong type"


@pytest.mark.parametrize("version", [0, 99, 2**63 - 1])
def test_version_is_not_checked(connect: Any, version: int) -> None:
    """A missing version constructs fine and fails at run; 0 is a real version."""
    # docs/v1-behaviour.md §3.1
    context = connect("multi_version", version)
    message = f"Request for unknown model: 'multi_version' version {version} is not found"
    for _ in range(2):
        with server_error(message):
            context.run(fp32(0), ONE)


def test_failed_constructor_leaves_a_closable_object(url: str, protocol: int) -> None:
    """An object whose constructor failed can be closed; it is closed."""
    # docs/v1-behaviour.md §3.1
    context = InferContext.__new__(InferContext)
    with pytest.raises(InferenceServerException, match="unknown model 'nope'"):
        context.__init__(url, protocol, "nope")  # type: ignore[misc]
    assert context.close() is None
    assert context._ctx is None
    with client_error("InferContext is closed"):
        context.run(add_sub(), ONE)

"""Statuses that gRPC makes on the client's side, distinguished from the server's statuses."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from queue import Queue
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ServerHealthContext
from tests.backends.http2_server import GRPC_HEADERS, Http2Server, headers, message, reset
from tritonclient_shim import configure
from tritonclient_shim.backends import open_backend
from tritonclient_shim.core.errors import (
    BackendError,
    ServerError,
    TransportError,
    UnreadableReply,
)
from tritonclient_shim.core.model import GRPC, Endpoint, InferCall, OutputSpec, TensorIn

Answer = Callable[[int], bytes]


def page(status: int) -> Answer:
    """Return a reply that a proxy sends instead of the server."""
    pairs = [(":status", str(status)), ("content-type", "text/html")]
    return lambda stream: headers(stream, pairs, end=True)


def at_once(*arguments: Any) -> bytes:
    """Return a reply of trailers alone. The last argument is the stream."""
    *trailers, stream = arguments
    return headers(stream, (*GRPC_HEADERS, *trailers), end=True)


def later(*arguments: Any) -> bytes:
    """Return the headers of a reply, then the trailers. The last argument is the stream."""
    *trailers, stream = arguments
    return headers(stream, GRPC_HEADERS) + headers(stream, trailers, end=True)


def unreadable(stream: int) -> bytes:
    """Return a message that claims to be compressed and is not."""
    begin = headers(stream, (*GRPC_HEADERS, ("grpc-encoding", "gzip")))
    end = headers(stream, [("grpc-status", "0")], end=True)
    return begin + message(stream, b"abc", compressed=True) + end


def cut_short(stream: int) -> bytes:
    """Return a reply that ends like HTTP, without a status."""
    return headers(stream, GRPC_HEADERS) + message(stream, b"", end=True)


#: Replies of the server, and the error's text after "GRPC client failed: ".
ENDS: dict[str, tuple[Answer, str]] = {
    "reset": (lambda stream: reset(stream, 2), "13: Received RST_STREAM with error code 2"),
    "reset after headers": (
        lambda stream: headers(stream, GRPC_HEADERS) + reset(stream, 1),
        "13: Received RST_STREAM with error code 1",
    ),
    "page 400": (page(400), "13: Received http2 header with status: 400"),
    "page 502": (page(502), "14: Received http2 header with status: 502"),
    "page 500": (page(500), "2: Received http2 header with status: 500"),
    "no status": (partial(later, ("x", "y")), "2: No status received"),
    "cut short": (cut_short, "2: Stream removed"),
    "unreadable": (
        unreadable,
        "(13: Decompression failed|13: Unexpected error decomp|2: Unexpected error decomp).*",
    ),
}
#: Statuses of servers, in a reply of trailers alone and after the headers.
REFUSALS: dict[str, Answer] = {
    f"{kind} {code}": partial(ending, ("grpc-status", str(code)), ("grpc-message", "own words"))
    for code in (1, 2, 7, 12, 13, 14, 16)
    for kind, ending in (("at once", at_once), ("later", later))
}


def call() -> InferCall:
    """Return a call of a model that the server need not have."""
    data = np.arange(2, dtype=np.int32)
    return InferCall("m", "", (TensorIn("I", "INT32", (2,), (data,), 8),), (OutputSpec("O"),), "1")


def of_control(backend: Any) -> BackendError:
    """Return the error of a control call, which tritonclient makes."""
    with pytest.raises(BackendError) as caught:
        backend.model_config("m")
    return caught.value


def of_infer(backend: Any) -> BackendError:
    """Return the error of a call."""
    with pytest.raises(BackendError) as caught:
        backend.infer(call())
    return caught.value


def of_infer_async(backend: Any) -> BackendError:
    """Return the error of an asynchronous call."""
    outcomes: Queue[Any] = Queue()
    backend.infer_async(call(), outcomes.put)
    error: BackendError = outcomes.get(timeout=20)
    return error


def of_event_loop(backend: Any) -> BackendError:
    """Return the error of a call in an event loop."""

    async def ask() -> Any:
        return await backend.infer_in_loop(call())()

    error: BackendError = asyncio.run(ask())
    return error


def of_stream(backend: Any) -> BackendError:
    """Return the error of a stream."""
    ends: Queue[Any] = Queue()
    stream = backend.open_stream(lambda *_: None, ends.put)
    stream.send(call())
    stream.close(wait=False)  # gRPC waits for both ends of a stream
    error: BackendError = ends.get(timeout=20)
    return error


UNARY = [of_control, of_infer, of_infer_async, of_event_loop]


@pytest.fixture(params=[*UNARY, of_stream], ids=lambda kind: kind.__name__[3:])
def ended(request: Any) -> Iterator[Callable[[Answer], BackendError]]:
    """Return the error of each kind of call against a server with this reply."""

    def end(answer: Answer) -> BackendError:
        with Http2Server(answer) as server:
            backend = open_backend(Endpoint(GRPC, server.address))
            error: BackendError = request.param(backend)
            backend.close()
            return error

    yield end


@pytest.mark.parametrize(("answer", "text"), ENDS.values(), ids=ENDS.keys())
def test_a_status_of_grpcs_own(
    ended: Callable[[Answer], BackendError], answer: Answer, text: str
) -> None:
    """gRPC's own status for an odd reply is no refusal of the server."""
    # docs/v1-behaviour.md §3.1
    error = ended(answer)
    assert isinstance(error, TransportError)
    assert re.fullmatch(f"GRPC client failed: {text}", error.message)


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_status_of_the_server(ended: Callable[[Answer], BackendError], answer: Answer) -> None:
    """The server's own status with one of these codes is its refusal, in its words."""
    error = ended(answer)
    assert isinstance(error, ServerError)
    assert error.message == "own words"


@pytest.mark.parametrize("code", [1, 12, 14])
def test_refusals_keep_the_connection(code: int) -> None:
    """Contexts keep their connection when a model refuses with a status that gRPC uses too."""
    answer = partial(at_once, ("grpc-status", str(code)), ("grpc-message", "the model: own words"))
    with Http2Server(answer) as server:
        for _ in range(5):
            backend = open_backend(Endpoint(GRPC, server.address))
            assert isinstance(of_infer(backend), ServerError)
        assert server.connections == 1


def test_the_time_limit_of_an_answer_that_has_begun() -> None:
    """A time limit has one text, at every stage of the reply."""
    with Http2Server(lambda stream: headers(stream, GRPC_HEADERS)) as server:
        settings = configure(network_timeout=0.5)
        backend = open_backend(Endpoint(GRPC, server.address), (), settings)
        for kind in UNARY:
            error = kind(backend)
            assert isinstance(error, TransportError)
            assert error.message == "GRPC client failed: 4: Deadline Exceeded"


def test_no_message() -> None:
    """A reply of status OK without a message is an error with a sentence, for contexts too."""
    with Http2Server(partial(at_once, ("grpc-status", "0"))) as server:
        for kind in UNARY:
            error = kind(open_backend(Endpoint(GRPC, server.address)))
            assert type(error) is UnreadableReply
            assert "it has no message; expected one" in str(error)
        health = ServerHealthContext(server.address, 1)
        for ask in (health.is_live, lambda: InferContext(server.address, 1, "m")):
            with pytest.raises(InferenceServerException, match="could not be read: .*; expected"):
                ask()

"""Connections that are kept and shared, dead connections, and repeated requests."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tests.backends.conftest import REPLY
from tests.backends.scripted_server import (
    CLOSE,
    CLOSE_AFTER,
    RESET,
    SILENCE,
    Answer,
    ScriptedServer,
    http,
)
from tests.own_interpreter import run_program
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.backends.http import connections
from tritonclient_shim.core.errors import ServerError, TransportError
from tritonclient_shim.core.model import Endpoint, InferCall, InferReply, TensorIn
from tritonclient_shim.settings import Settings

CALL = InferCall("m", "", (), ())
PATIENCE = 30.0


def backend_on(server: ScriptedServer) -> Any:
    """Return a backend on a scripted server."""
    return open_backend(Endpoint("http", server.address))


def failing_on(number: int, failure: Answer) -> ScriptedServer:
    """Return a server that replies, except to the request with this number."""
    count = iter(range(1, 1000))
    return ScriptedServer(lambda request: failure if next(count) == number else REPLY)


def test_connection_is_kept(server: ScriptedServer) -> None:
    """Successive calls use one connection, from any thread and backend."""
    first, second = backend_on(server), backend_on(server)
    first.live()
    second.infer(CALL)
    worker = threading.Thread(target=first.live)
    worker.start()
    worker.join(PATIENCE)
    assert len(server.requests) == 3
    assert server.connections == 1
    first.close()
    second.close()


def test_last_close_closes_connections(server: ScriptedServer) -> None:
    """Idle connections are closed with the last backend of an endpoint, not before."""
    first, second = backend_on(server), backend_on(server)
    first.live()
    first.close()
    assert not server.closed_by_client.acquire(timeout=0.1)
    second.close()
    assert server.closed_by_client.acquire(timeout=PATIENCE)


def test_forgotten_backend_closes_connections(server: ScriptedServer) -> None:
    """A backend that is collected without close releases its connections."""
    backend = backend_on(server)
    backend.live()
    backend.server_metadata = None
    del backend
    assert server.closed_by_client.acquire(timeout=PATIENCE)


@pytest.mark.parametrize("failure", [CLOSE, RESET])
def test_get_is_repeated_on_a_kept_connection(failure: Answer) -> None:
    """A GET without reply on a kept connection is sent again on a fresh connection."""
    with failing_on(2, failure) as server:
        backend = backend_on(server)
        assert backend.live()
        assert backend.live()
        assert (len(server.requests), server.connections) == (3, 2)
        backend.close()


@pytest.mark.parametrize("failure", [CLOSE, RESET])
def test_get_is_not_repeated_on_a_fresh_connection(failure: Answer) -> None:
    """A GET without reply on a fresh connection fails."""
    # docs/v1-behaviour.md §3.1
    with failing_on(1, failure) as server:
        backend = backend_on(server)
        with pytest.raises(TransportError):
            backend.live()
        assert len(server.requests) == 1
        backend.close()


@pytest.mark.parametrize("failure", [CLOSE, RESET])
def test_inference_is_never_run_twice(failure: Answer) -> None:
    """An inference that the server received completely is not sent twice: it may have run."""
    with failing_on(2, failure) as server:
        backend = backend_on(server)
        backend.infer(CALL)
        with pytest.raises(TransportError):
            backend.infer(CALL)
        assert len(server.requests) == 2
        assert backend.infer(CALL).model_name == "m"
        backend.close()


def test_connection_that_breaks_before_the_request(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a kept connection ends just before the request is sent, a fresh connection is used."""

    def usable(connection: connections.HttpConnection) -> bool:
        connection.close()
        return True

    backend = backend_on(server)
    backend.infer(CALL)
    monkeypatch.setattr(connections.HttpConnection, "usable", usable)
    assert backend.infer(CALL).model_name == "m"
    assert (len(server.requests), server.connections) == (2, 2)
    backend.close()


def test_asynchronous_request_without_a_thread(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no thread can be started, the request fails and nothing waits for it."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    backend = backend_on(server)
    outcomes: SimpleQueue[Outcome] = SimpleQueue()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    backend.infer_async(CALL, outcomes.put)
    error = outcomes.get(timeout=PATIENCE)
    assert isinstance(error, TransportError)
    assert error.message == "HTTP client failed: Out of memory"
    backend.close()


#: More than the kernel keeps of a connection that its peer does not read.
LARGE_CALL = InferCall(
    "m", "", (TensorIn("x", "UINT8", (1 << 25,), (bytes(1 << 25),), 1 << 25),), ()
)


def refusing_uploads(refusal: bytes) -> ScriptedServer:
    """Return a server that answers uploads before it reads them, and closes the connection."""

    def answer(request: bytes) -> bytes:
        return refusal + CLOSE_AFTER if request.startswith(b"POST") else http(200)

    return ScriptedServer(answer, reads_bodies=False)


@pytest.mark.parametrize("is_kept", [False, True], ids=["fresh", "kept"])
def test_answer_before_the_upload_has_been_read(is_kept: bool) -> None:
    """A server that answers an upload early has answered: the upload is sent once."""
    with refusing_uploads(http(413, b'{"error":"too large"}')) as server:
        backend = backend_on(server)
        if is_kept:
            assert backend.live()
        with pytest.raises(ServerError) as caught:
            backend.infer(LARGE_CALL)
        assert (caught.value.message, caught.value.status) == ("too large", "413")
        uploads = [request for request in server.requests if request.startswith(b"POST")]
        assert (len(uploads), server.connections) == (1, 1)
        backend.close()


def test_early_answer_ends_its_connection() -> None:
    """A connection with half an upload on it is not kept, whatever the early answer says."""
    with refusing_uploads(REPLY) as server:
        backend = backend_on(server)
        assert backend.infer(LARGE_CALL).model_name == "m"
        assert backend.live()
        assert server.connections == 2
        backend.close()


def test_upload_that_breaks_off_without_an_answer() -> None:
    """An upload that a fresh connection breaks off without an answer is a failed upload."""
    with refusing_uploads(b"") as server:
        backend = backend_on(server)
        with pytest.raises(TransportError) as caught:
            backend.infer(LARGE_CALL)
        assert caught.value.message == "HTTP client failed: Failed sending data to the peer"
        backend.close()


def test_early_answer_that_breaks_off() -> None:
    """An early answer that breaks off is an error, and the upload is not repeated."""
    with refusing_uploads(b"HTTP/1.1 413 Text\r\nContent-Length: 9\r\n\r\nhalf") as server:
        backend = backend_on(server)
        assert backend.live()
        with pytest.raises(TransportError) as caught:
            backend.infer(LARGE_CALL)
        assert caught.value.message == "HTTP client failed: Transferred a partial file"
        assert len(server.requests) == 2
        backend.close()


def test_answer_to_an_upload_that_takes_too_long() -> None:
    """An answer counts also if the server neither reads the upload nor closes the connection."""
    refusal = http(503, b'{"error":"overloaded"}')
    with ScriptedServer(lambda _: refusal, reads_bodies=False) as server:
        endpoint = Endpoint("http", server.address)
        backend = open_backend(endpoint, settings=Settings(network_timeout=0.5))
        with pytest.raises(ServerError) as caught:
            backend.infer(LARGE_CALL)
        assert caught.value.message == "overloaded"
        backend.close()


@pytest.mark.parametrize("is_idle", [True, False])
def test_server_behind_a_lost_connection(is_idle: bool) -> None:
    """Nothing is known of the server once its connection has ended: another server may listen."""
    with failing_on(1000 if is_idle else 2, CLOSE) as server:
        backend = backend_on(server)
        assert backend.live()
        before = backend.known_server()
        assert backend.known_server() is before
        if is_idle:
            server.drop()
        assert backend.live()
        assert backend.known_server() is not before
        backend.close()


def test_pieces_arrive_in_order(server: ScriptedServer) -> None:
    """Small and large pieces of a request become one body."""
    chunks = (b"a" * 10, b"b" * 70_000, b"", b"c" * 20, b"d" * 100_000, b"e")
    size = sum(map(len, chunks))
    value = TensorIn("x", "UINT8", (size,), chunks, size)
    backend = backend_on(server)
    backend.infer(InferCall("m", "", (value,), ()))
    assert server.requests[0].endswith(b"".join(chunks))
    backend.close()


def test_forked_child_has_its_own_connections(server: ScriptedServer) -> None:
    """Parent and child may use one backend after a fork."""
    backend = backend_on(server)
    backend.infer(CALL)
    outcomes: SimpleQueue[Outcome] = SimpleQueue()
    backend.infer_async(CALL, outcomes.put)
    outcomes.get(timeout=PATIENCE)
    child = os.fork()
    if child == 0:
        backend.infer_async(CALL, outcomes.put)
        fine = isinstance(outcomes.get(timeout=PATIENCE), InferReply)
        os._exit(0 if fine and backend.infer(CALL).model_name == "m" else 1)
    assert os.waitpid(child, 0)[1] == 0
    used = server.connections
    assert backend.infer(CALL).model_name == "m"
    assert server.connections == used  # the child did not close the parent's connection
    backend.close()


def closed_by_server(port: int) -> int:
    """Return how many connections to the port the server has closed, and this process has not.

    The list is of all processes. Others may have connections to a port of this number, too.
    """
    close_wait = "08"
    own = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the list itself
            own.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    closed = [row for row in rows if row[2].endswith(f":{port:04X}") and row[3] == close_wait]
    return sum(f"socket:[{row[9]}]" in own for row in closed)


def open_connections(server: ScriptedServer, backend: Any, everybody: threading.Barrier) -> None:
    """Have the backend keep as many connections as the barrier has parties."""
    outcomes: SimpleQueue[Outcome] = SimpleQueue()
    for _ in range(everybody.parties):
        backend.infer_async(CALL, outcomes.put)
    for _ in range(everybody.parties):
        assert isinstance(outcomes.get(timeout=PATIENCE), InferReply)
    assert server.connections == everybody.parties


def test_idle_connections_that_the_server_has_closed() -> None:
    """Connections that a burst has left are closed after the server has closed them."""
    everybody = threading.Barrier(9)

    def answer(request: bytes) -> bytes:
        if request.startswith(b"POST"):
            everybody.wait(PATIENCE)
        return REPLY

    with ScriptedServer(answer) as server:
        backend = backend_on(server)
        open_connections(server, backend, everybody)
        assert backend.live()
        server.drop_all_but_latest()
        assert closed_by_server(server.port) == 8
        for _ in range(8):
            assert backend.live()
        assert closed_by_server(server.port) == 0
        assert server.connections == 9
        backend.close()


def test_idle_connections_that_are_open() -> None:
    """Connections that the server has not closed are kept, and used by the next burst."""
    everybody = threading.Barrier(4)

    def answer(request: bytes) -> bytes:
        if request.startswith(b"POST"):
            everybody.wait(PATIENCE)
        return REPLY

    with ScriptedServer(answer) as server:
        backend = backend_on(server)
        open_connections(server, backend, everybody)
        for _ in range(8):
            assert backend.live()
        open_connections(server, backend, everybody)
        backend.close()


def test_asynchronous_requests_that_wait_for_each_other() -> None:
    """A hundred asynchronous requests are at the server at one time, as in v1."""
    everybody = threading.Barrier(100)

    def answer(request: bytes) -> bytes:
        everybody.wait(PATIENCE)
        return REPLY

    outcomes: SimpleQueue[Outcome] = SimpleQueue()
    with ScriptedServer(answer) as server:
        backend = backend_on(server)
        for _ in range(everybody.parties):
            backend.infer_async(CALL, outcomes.put)
        for _ in range(everybody.parties):
            assert isinstance(outcomes.get(timeout=PATIENCE), InferReply)
        backend.close()


def test_slow_requests_of_another_backend() -> None:
    """Asynchronous requests of a backend do not wait for those of another backend."""
    gate = threading.Event()
    slow = InferCall("slow", "", (), ())

    def answer(request: bytes) -> bytes:
        if b"/models/slow/" in request:
            gate.wait(PATIENCE)
        return REPLY

    slow_outcomes: SimpleQueue[Outcome] = SimpleQueue()
    outcomes: SimpleQueue[Outcome] = SimpleQueue()
    with ScriptedServer(answer) as server:
        busy, free = backend_on(server), backend_on(server)
        for _ in range(connections.MAX_IN_FLIGHT + 1):
            busy.infer_async(slow, slow_outcomes.put)
        free.infer_async(CALL, outcomes.put)
        assert isinstance(outcomes.get(timeout=PATIENCE), InferReply)
        assert slow_outcomes.empty()
        gate.set()
        for _ in range(connections.MAX_IN_FLIGHT + 1):
            assert isinstance(slow_outcomes.get(timeout=PATIENCE), InferReply)
        busy.close()
        free.close()


EXIT = """
import sys, threading
from tritonclient_shim.backends import open_backend
from tritonclient_shim.core.model import Endpoint, InferCall
backend = open_backend(Endpoint("http", sys.argv[1]))
for number in range(300):
    backend.infer_async(InferCall("m", "", (), ()), print)
"""


def test_exit_does_not_wait_for_answers() -> None:
    """A process with unanswered and queued requests ends at once, and silently."""
    with ScriptedServer(lambda request: SILENCE) as server:
        ended = run_program(EXIT, server.address, within=("timeout", "30"))
    assert ended == (0, "", "")

"""Streams of the gRPC backend on a real server (docs/v1-behaviour.md §5,
docs/v2-mapping.md §4, §10).
"""

from __future__ import annotations

import threading
from queue import Queue
from typing import Any

import numpy as np
import pytest

from testbed import TritonServer
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.base import InferStream
from tritonclient_shim.backends.grpc.stream import Outbox
from tritonclient_shim.core.errors import ServerError, StreamEnded, TransportError
from tritonclient_shim.core.model import (
    GRPC,
    Endpoint,
    InferCall,
    InferReply,
    OutputSpec,
    ShmSlice,
    TensorIn,
)

CLOSED = "^Stream has been closed.$"


def call(request_id: str, model: str = "slow", value: float = 0.0) -> InferCall:
    """Return a call of ``slow`` (answers after ``value`` seconds), ``failing`` or ``nobody``."""
    data = np.array([value], dtype=np.float32)
    shape = (1,) if model == "slow" else (1, 1)
    tensors = (TensorIn("INPUT0", "FP32", shape, (data,), 4),)
    return InferCall(model, "", tensors, (OutputSpec("OUTPUT0"),), request_id)


class Log:
    """The reports of a stream: replies in order, then the end."""

    def __init__(self) -> None:
        self.replies: Queue[Any] = Queue()
        self.ends: Queue[Any] = Queue()

    def open(self, address: str) -> InferStream:
        """Open a stream that reports to this log."""
        backend: Any = open_backend(Endpoint(GRPC, address))
        stream: InferStream = backend.open_stream(
            lambda *reply: self.replies.put(reply), self.ends.put
        )
        return stream

    def ids(self, count: int) -> list[str]:
        """Return the ids of the next replies."""
        return [self.replies.get(timeout=20)[0] for _ in range(count)]

    def end(self) -> Any:
        """Return the only end."""
        end = self.ends.get(timeout=20)
        assert self.ends.empty()
        return end


def test_close_waits_for_every_answer(triton: TritonServer) -> None:
    """close half-closes and returns once all is answered in order. on_end gets None."""
    log = Log()
    stream = log.open(triton.grpc)
    for number in range(50):
        stream.send(call(str(number), value=0.4 if number == 0 else 0.0))
    stream.close()
    assert log.replies.qsize() == 50
    assert log.ids(50) == [str(number) for number in range(50)]
    assert log.end() is None
    stream.close()


def test_refusals_are_matched_and_leave_the_stream_open(triton: TritonServer) -> None:
    """A refused request comes back under its own id; later requests are served."""
    # docs/v1-behaviour.md §5
    log = Log()
    stream = log.open(triton.grpc)
    stream.send(call("a", model="nobody"))
    stream.send(call("b", model="failing", value=3.0))
    stream.send(call("c"))
    replies = dict(log.replies.get(timeout=20) for _ in range(3))
    stream.close()
    assert isinstance(replies["a"], ServerError)
    assert replies["a"].message == "Request for unknown model: 'nobody' is not found"
    assert isinstance(replies["b"], ServerError)
    assert "[request id" not in replies["b"].message
    assert isinstance(replies["c"], InferReply)


def test_refusals_name_regions_as_users_do(triton: TritonServer) -> None:
    """A refusal on a stream names a region as its user does (docs/v2-mapping.md §8)."""
    log = Log()
    stream = log.open(triton.grpc)
    region = ShmSlice("no such/region", 4)
    tensors = (TensorIn("INPUT0", "FP32", (1,), shm=region),)
    stream.send(InferCall("slow", "", tensors, (OutputSpec("OUTPUT0"),), "1"))
    stream.close()
    _, error = log.replies.get(timeout=20)
    assert error.message == "Unable to find shared memory region: 'no such/region'"


def test_sending_on_a_closed_stream(triton: TritonServer) -> None:
    """v1's words for a request after the stream's end (docs/v1-behaviour.md §A)."""
    log = Log()
    stream = log.open(triton.grpc)
    stream.close()
    with pytest.raises(StreamEnded, match=CLOSED):
        stream.send(call("1"))


def test_the_reader_may_send_and_close(triton: TritonServer) -> None:
    """send and close on the reader's own thread return at once, without a deadlock."""
    ended: Queue[Any] = Queue()
    seen: list[str] = []

    def on_reply(request_id: str, _: Any) -> None:
        seen.append(request_id)
        if request_id == "first":
            stream.send(call("second", value=0.1))
            stream.close()

    backend: Any = open_backend(Endpoint(GRPC, triton.grpc))
    stream = backend.open_stream(on_reply, ended.put)
    stream.send(call("first"))
    assert ended.get(timeout=20) is None
    assert seen == ["first", "second"]


def test_cancel_ends_at_once(triton: TritonServer) -> None:
    """cancel does not wait for replies. The end is reported once, with an error."""
    log = Log()
    stream = log.open(triton.grpc)
    stream.send(call("1", value=5.0))
    stream.cancel()
    stream.cancel()
    end = log.ends.get(timeout=3)
    assert isinstance(end, TransportError)
    stream.close()
    assert log.ends.empty()
    assert log.replies.empty()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_exit_on_the_reader_ends_the_stream(triton: TritonServer) -> None:
    """What ends the reader's thread, as sys.exit() in a callback, is reported once."""
    ends: Queue[Any] = Queue()
    replies: Queue[str] = Queue()

    def on_reply(request_id: str, _: Any) -> None:
        replies.put(request_id)
        raise SystemExit

    backend: Any = open_backend(Endpoint(GRPC, triton.grpc))
    stream = backend.open_stream(on_reply, ends.put)
    stream.send(call("1"))
    assert replies.get(timeout=20) == "1"
    assert ends.get(timeout=20).message == "Stream has been closed."
    with pytest.raises(StreamEnded, match=CLOSED):
        stream.send(call("2"))
    stream.close()  # else the thread's exception may reach the next test
    assert ends.empty()


def test_a_killed_server_ends_the_stream(start_triton: Any) -> None:
    """If the server dies, pending requests are reported, and send raises the reason from then on.

    v1 hung for ever here.

    (docs/v1-behaviour.md §5)
    """
    server = start_triton(models=["slow"])
    log = Log()
    stream = log.open(server.grpc)
    stream.send(call("1"))
    assert log.ids(1) == ["1"]
    stream.send(call("2", value=30.0))
    server.kill()
    error = log.end()
    assert isinstance(error, TransportError)
    assert error.message == "GRPC client failed: 14: Socket closed"
    assert error.__cause__ is not None
    with pytest.raises(StreamEnded, match="^GRPC client failed: 14: Socket closed$"):
        stream.send(call("3"))
    stream.close()
    assert log.ends.empty()


# --------------------------------------------------------------------------- the outbox


def test_a_full_outbox_makes_senders_wait() -> None:
    """put waits for room, unless it may not wait or the queue is empty, so memory is bounded."""
    box = Outbox(limit=10)
    box.put(b"longer than the limit", wait=True)
    box.put(b"from the reader", wait=False)
    sent = threading.Event()

    def put() -> None:
        box.put(b"waits", wait=True)
        sent.set()

    threading.Thread(target=put, daemon=True).start()
    assert not sent.wait(0.1)
    next(box)
    assert not sent.wait(0.1)
    next(box)
    assert sent.wait(30)
    assert next(box) == b"waits"


@pytest.mark.parametrize("close", [Outbox.finish, Outbox.abandon])
def test_closing_wakes_waiting_senders(close: Any) -> None:
    """A sender that waits for room gets the stream's end."""
    box = Outbox(limit=1)
    box.put(b"xx", wait=True)
    errors: Queue[Any] = Queue()

    def put() -> None:
        try:
            box.put(b"yy", wait=True)
        except TransportError as error:
            errors.put(str(error))

    thread = threading.Thread(target=put, daemon=True)
    thread.start()
    close(box)
    assert errors.get(timeout=5) == "Stream has been closed."
    assert list(box) == ([b"xx"] if close is Outbox.finish else [])

"""A context's stream: answers find their requests, also where no real server sends such (v1 §5)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tritonclient_shim.errors import ServerFault, TransportFault
from tritonclient_shim.model import InferCall
from tritonclient_shim.streams import ContextStream

LOST = TransportFault("GRPC client failed: 14: Socket closed")


def call(number: int) -> InferCall:
    return InferCall("m", "", (), (), request_id=str(number))


class FakeStream:
    """The backend and its stream in one: keeps what is sent, answers when told."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.closed: list[bool] = []
        self.fails: TransportFault | None = None
        self.ends_first = False

    def open_stream(self, on_reply: Any, on_end: Any) -> FakeStream:
        self.on_reply, self.on_end = on_reply, on_end
        return self

    def send(self, one: InferCall) -> None:
        if self.ends_first:
            self.on_end(self.fails)
        if self.fails is not None:
            raise self.fails
        self.sent.append(one.request_id)

    def close(self, wait: bool = True) -> None:
        self.closed.append(wait)


@pytest.fixture
def fake() -> FakeStream:
    return FakeStream()


@pytest.fixture
def stream(fake: FakeStream) -> ContextStream:
    return ContextStream(fake)  # type: ignore[arg-type]


def test_answers_by_id(fake: FakeStream, stream: ContextStream) -> None:
    """v1 §5: answers are matched by id, in whatever order they come; unknown ones are dropped."""
    got: list[Any] = []
    for number in (1, 2, 3):
        stream.send(call(number), lambda outcome, n=number: got.append((n, outcome)))
    for request_id in ("3", "77", "1", "1"):
        fake.on_reply(request_id, f"answer {request_id}")
    assert got == [(3, "answer 3"), (1, "answer 1")]


def test_answers_without_id(fake: FakeStream, stream: ContextStream) -> None:
    """v2-mapping §4: an error that names no request belongs to the oldest one."""
    got: list[Any] = []
    for number in (1, 2):
        stream.send(call(number), lambda outcome, n=number: got.append((n, outcome)))
    fault = ServerFault("no", "INTERNAL")
    fake.on_reply("", fault)
    fake.on_reply("", "late")
    fake.on_reply("", "nobody's")
    assert got == [(1, fault), (2, "late")]


@pytest.mark.parametrize("fault", [LOST, None])
def test_end(fake: FakeStream, stream: ContextStream, fault: Any) -> None:
    """v1 §5, trap 20: whatever is owed when the stream ends fails, oldest first; then nothing."""
    got: list[Any] = []
    for number in (1, 2):
        stream.send(call(number), lambda outcome, n=number: got.append((n, str(outcome))))
    fake.on_end(fault)
    text = str(LOST) if fault else "Stream has been closed."
    assert got == [(1, text), (2, text)]
    with pytest.raises(TransportFault, match="Stream has been closed."):
        stream.send(call(3), got.append)
    with pytest.raises(TransportFault, match="Stream has been closed."):
        stream.infer(call(4))
    assert len(got) == 2


def test_send_fails(fake: FakeStream, stream: ContextStream) -> None:
    """v1 §5: a request that cannot be sent is raised and never delivered."""
    got: list[Any] = []
    fake.fails = LOST
    with pytest.raises(TransportFault):
        stream.send(call(1), got.append)
    fake.on_end(LOST)
    assert got == []


def test_send_fails_after_the_end(fake: FakeStream, stream: ContextStream) -> None:
    """v1 §5: when the stream's end has delivered the failure already, it is not raised again."""
    got: list[Any] = []
    fake.fails, fake.ends_first = LOST, True
    stream.send(call(1), got.append)
    assert got == [LOST]


def test_infer_waits(fake: FakeStream, stream: ContextStream) -> None:
    """v1 §5: run() is send and wait; a fault is raised."""
    for outcome in ("answer", ServerFault("no", "INTERNAL")):
        answerer = threading.Timer(0.02, fake.on_reply, ("1", outcome))
        answerer.start()
        if outcome == "answer":
            assert stream.infer(call(1)) == "answer"
        else:
            with pytest.raises(ServerFault, match="no"):
                stream.infer(call(1))


class Collected(str):
    """A key during whose look-up the garbage collector runs, and closes the stream."""

    stream: ContextStream

    def __hash__(self) -> int:
        self.stream.close(wait=False)
        return super().__hash__()


def test_close_by_the_garbage_collector(fake: FakeStream, stream: ContextStream) -> None:
    """v1 §6 __del__: it may run on the stream's own thread, in the middle of an answer."""
    got: list[Any] = []
    stream.send(call(1), got.append)
    key = Collected("1")
    key.stream = stream
    reader = threading.Thread(target=fake.on_reply, args=(key, "answer"), daemon=True)
    reader.start()
    reader.join(10)
    assert (got, fake.closed) == (["answer"], [False])


@pytest.mark.parametrize("wait", [True, False])
def test_close(fake: FakeStream, stream: ContextStream, wait: bool) -> None:
    """v1 §5 close, streaming: half-close, and wait unless nobody may."""
    stream.close(wait)
    assert fake.closed == [wait]
    with pytest.raises(TransportFault, match="Stream has been closed."):
        stream.send(call(1), print)
    assert fake.sent == []

"""A context's stream: outcomes find their requests, also where no real server sends such."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tritonclient_shim import sequences
from tritonclient_shim.errors import Fault, ServerFault, StreamEnded, TransportFault
from tritonclient_shim.model import InferCall, InferReply
from tritonclient_shim.sequences import Sequences
from tritonclient_shim.streams import ContextStream

LOST = TransportFault("GRPC client failed: 14: Socket closed")
REPLY = InferReply("m", "1", ())


def call(number: int, sequence: int = 0, start: bool = False, end: bool = False) -> InferCall:
    return InferCall("m", "", (), (), str(number), sequence, start, end)


class FakeStream:
    """One stream: keeps what is sent, answers when told."""

    def __init__(self, on_reply: Any, on_end: Any) -> None:
        self.on_reply, self._on_end = on_reply, on_end
        self.sent: list[str] = []
        self.closed: list[bool] = []
        self.takes = True  # until it has ended; its end may be told later
        self.fails: Fault | None = None
        self.ends_first = False

    def end(self, fault: Fault | None = LOST) -> None:
        """The stream has ended, and tells."""
        self.takes = False
        self._on_end(fault)

    def send(self, one: InferCall) -> None:
        if self.ends_first:
            self.end()
        if self.fails is not None:
            raise self.fails
        if not self.takes:
            raise StreamEnded(LOST.message)
        self.sent.append(one.request_id)

    def close(self, wait: bool = True) -> None:
        self.closed.append(wait)
        self.takes = False


class FakeBackend:
    """Opens such streams; ``refuses`` is raised instead."""

    def __init__(self) -> None:
        self.streams: list[FakeStream] = []
        self.refuses: Fault | None = None

    def open_stream(self, on_reply: Any, on_end: Any) -> FakeStream:
        if self.refuses is not None:
            raise self.refuses
        self.streams.append(FakeStream(on_reply, on_end))
        return self.streams[-1]

    @property
    def latest(self) -> FakeStream:
        return self.streams[-1]

    @property
    def sent(self) -> list[list[str]]:
        """The ids of the requests of each stream."""
        return [stream.sent for stream in self.streams]


@pytest.fixture
def fake() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def stream(fake: FakeBackend) -> ContextStream:
    return ContextStream(fake)  # type: ignore[arg-type]


def keep(stream: ContextStream, *numbers: int) -> list[Any]:
    """Send requests → where (number, outcome) of each will be."""
    got: list[Any] = []
    for number in numbers:
        stream.send(call(number), lambda outcome, n=number: got.append((n, outcome)))
    return got


# ------------------------------------------------------------------------------- answers


def test_answers_by_id(fake: FakeBackend, stream: ContextStream) -> None:
    """docs/v1-behaviour.md §5: answers are matched by id, in whatever order they come."""
    got = keep(stream, 1, 2, 3)
    for request_id in ("3", "1"):
        fake.latest.on_reply(request_id, f"answer {request_id}")
    assert got == [(3, "answer 3"), (1, "answer 1")]


@pytest.mark.parametrize("request_id", ["77", "1"], ids=["never asked for", "answered already"])
def test_answers_to_nobody(fake: FakeBackend, stream: ContextStream, request_id: str) -> None:
    """An answer under an id that is not outstanding goes to no request: it ends the stream."""
    got = keep(stream, 1, 2)
    fake.latest.on_reply("1", "answer 1")
    with pytest.raises(TransportFault, match=f"an answer for request id '{request_id}', which"):
        fake.latest.on_reply(request_id, "whose?")
    assert got == [(1, "answer 1")]


def test_answers_without_id(fake: FakeBackend, stream: ContextStream) -> None:
    """docs/v2-mapping.md §4: an answer that names no request belongs to the oldest one."""
    got = keep(stream, 1, 2)
    fault = ServerFault("no", "INTERNAL")
    fake.latest.on_reply("", fault)
    fake.latest.on_reply("", "late")
    with pytest.raises(TransportFault, match="an answer for request id ''"):
        fake.latest.on_reply("", "nobody's")
    assert got == [(1, fault), (2, "late")]


def test_infer_waits(fake: FakeBackend, stream: ContextStream) -> None:
    """docs/v1-behaviour.md §5: run() is send and wait; a fault is raised."""
    for outcome in ("answer", ServerFault("no", "INTERNAL")):
        answerer = threading.Timer(0.02, fake.latest.on_reply, ("1", outcome))
        answerer.start()
        if outcome == "answer":
            assert stream.infer(call(1)) == "answer"
        else:
            with pytest.raises(ServerFault, match="no"):
                stream.infer(call(1))


# -------------------------------------------------------------------------------- breaks


@pytest.mark.parametrize("fault", [LOST, None])
def test_end(fake: FakeBackend, stream: ContextStream, fault: Any) -> None:
    """Whatever is owed when the stream ends fails, oldest first; the next request opens one."""
    got = keep(stream, 1, 2)
    fake.latest.end(fault)
    text = str(LOST) if fault else "Stream has been closed."
    assert [(number, str(outcome)) for number, outcome in got] == [(1, text), (2, text)]
    again = keep(stream, 3)
    fake.latest.on_reply("3", "answer")
    assert (again, fake.sent, len(got)) == ([(3, "answer")], [["1", "2"], ["3"]], 2)


def test_end_that_has_not_been_told(fake: FakeBackend, stream: ContextStream) -> None:
    """A request that an ended stream does not take goes to the next one, and only there."""
    fake.latest.takes = False
    got = keep(stream, 1)
    fake.streams[0].end()
    fake.latest.on_reply("1", "answer")
    assert (got, fake.sent) == ([(1, "answer")], [[], ["1"]])


def test_send_fails(fake: FakeBackend, stream: ContextStream) -> None:
    """A request that cannot be sent is raised and never delivered; the stream stays."""
    got: list[Any] = []
    fake.latest.fails = TransportFault("Request has byte size 3000000000 which exceed …")
    with pytest.raises(TransportFault, match="byte size"):
        stream.send(call(1), got.append)
    fake.latest.fails = None
    keep(stream, 2)
    assert (got, fake.sent) == ([], [["2"]])


def test_send_fails_after_the_end(fake: FakeBackend, stream: ContextStream) -> None:
    """When the stream's end has delivered the failure already, it is not raised or sent again."""
    fake.latest.ends_first = True
    assert keep(stream, 1) == [(1, LOST)]
    assert fake.sent == [[]]


def test_the_new_stream_ends_at_once(fake: FakeBackend, stream: ContextStream) -> None:
    """While there is no server a request tries two streams at most, and is told why it failed."""
    fake.latest.end()
    real = fake.open_stream

    def ended(on_reply: Any, on_end: Any) -> FakeStream:
        opened = real(on_reply, on_end)
        opened.takes = False
        return opened

    fake.open_stream = ended  # type: ignore[method-assign]
    for opened in (3, 4):
        with pytest.raises(StreamEnded, match="Socket closed"):
            stream.send(call(1), print)
        assert len(fake.streams) == opened


def test_no_stream_can_be_opened(fake: FakeBackend, stream: ContextStream) -> None:
    """The fault is raised, and the next request tries again."""
    fake.latest.end()
    fake.refuses = TransportFault("no")
    with pytest.raises(TransportFault, match="no"):
        stream.send(call(1), print)
    fake.refuses = None
    keep(stream, 2)
    assert fake.sent == [[], ["2"]]


def test_many_threads_open_one_stream(fake: FakeBackend, stream: ContextStream) -> None:
    """Threads that find the stream broken at the same time share its one successor."""
    real, number, barrier = fake.open_stream, 8, threading.Barrier(8)

    def slowly(on_reply: Any, on_end: Any) -> FakeStream:
        threading.Event().wait(0.05)
        return real(on_reply, on_end)

    fake.open_stream = slowly  # type: ignore[method-assign]
    fake.latest.end()

    def work(n: int) -> None:
        barrier.wait(10)
        stream.send(call(n), print)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [sorted(sent) for sent in fake.sent] == [[], [str(n) for n in range(number)]]


# ----------------------------------------------------------------------------- sequences

BROKE = "in the midst of sequence 7: .* FLAG_SEQUENCE_START"


def test_open_sequence_must_be_started_again(fake: FakeBackend, stream: ContextStream) -> None:
    """A sequence that was open at a break is not continued, until it has been started again."""
    stream.send(call(1, 7, start=True), print)
    fake.latest.end()
    for end in (False, True):
        with pytest.raises(TransportFault, match=BROKE):
            stream.send(call(2, 7, end=end), print)
    for number, one in enumerate([call(3, 7, start=True), call(4, 7), call(5, 8), call(6)]):
        stream.send(one, print)
        assert len(fake.latest.sent) == number + 1
    assert fake.sent == [["1"], ["3", "4", "5", "6"]]


def test_ended_sequence(fake: FakeBackend, stream: ContextStream) -> None:
    """A sequence has ended when the answer to its last request says so, and not before."""
    stream.send(call(1, 7, start=True), print)
    stream.send(call(2, 7, end=True), print)
    fake.latest.on_reply("2", REPLY)
    stream.send(call(3, 8, start=True), print)
    stream.send(call(4, 8, end=True), print)
    fake.latest.end()
    stream.send(call(5, 7), print)  # the server's to refuse
    with pytest.raises(TransportFault, match="sequence 8"):
        stream.send(call(6, 8), print)
    assert fake.latest.sent == ["5"]


def test_sequence_started_before_its_end_is_answered(
    fake: FakeBackend, stream: ContextStream
) -> None:
    """The answer that ends a sequence ends no later sequence of the same id."""
    stream.send(call(1, 7, start=True, end=True), print)
    stream.send(call(2, 7, start=True), print)
    fake.latest.on_reply("1", REPLY)
    fake.latest.end()
    with pytest.raises(TransportFault, match=BROKE):
        stream.send(call(3, 7), print)


def test_sequences_without_end_are_forgotten_some_day(monkeypatch: Any) -> None:
    """Memory is bounded when sequences are started and never ended: the oldest are forgotten."""
    monkeypatch.setattr(sequences, "MOST", 2)
    table = Sequences()
    for number in (7, 8, 9):
        table.enter(call(number, number, start=True), 0, print)
    assert table.enter(call(1, 7), 1, print) is print
    for number in (8, 9):
        with pytest.raises(TransportFault, match=f"sequence {number}"):
            table.enter(call(1, number), 1, print)


# --------------------------------------------------------------------------------- close


class Collected(str):
    """A key during whose look-up the garbage collector runs, and closes the stream."""

    stream: ContextStream

    def __hash__(self) -> int:
        self.stream.close(wait=False)
        return super().__hash__()


def test_close_by_the_garbage_collector(fake: FakeBackend, stream: ContextStream) -> None:
    """docs/v1-behaviour.md §6 __del__: it may run on the stream's own thread, in an answer."""
    got = keep(stream, 1)
    key = Collected("1")
    key.stream = stream
    reader = threading.Thread(target=fake.latest.on_reply, args=(key, "answer"), daemon=True)
    reader.start()
    reader.join(10)
    assert (got, set(fake.latest.closed)) == ([(1, "answer")], {False})


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("wait", [True, False])
def test_close(fake: FakeBackend, stream: ContextStream, wait: bool, broken: bool) -> None:
    """Half-close, and wait unless nobody may; nothing is opened afterwards, broken or not."""
    if broken:
        fake.latest.end()
    stream.close(wait)
    assert fake.latest.closed == [wait]
    with pytest.raises(TransportFault, match="Stream has been closed."):
        stream.send(call(1), print)
    assert fake.sent == [[]]


def test_close_while_a_stream_is_opened(fake: FakeBackend, stream: ContextStream) -> None:
    """A stream that was being opened when the context was closed is closed as well."""
    real = fake.open_stream

    def open_stream(on_reply: Any, on_end: Any) -> FakeStream:
        stream.close(wait=False)
        return real(on_reply, on_end)

    fake.open_stream = open_stream  # type: ignore[method-assign]
    fake.latest.end()
    with pytest.raises(TransportFault, match="Stream has been closed."):
        stream.send(call(1), print)
    assert (len(fake.streams), fake.latest.closed, fake.sent) == (2, [False], [[], []])

"""A context's stream: outcomes reach their requests, also for replies that no real server sends."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from tests.streams.fake_streams import LOST, FakeBackend, FakeStream, call
from tritonclient_shim.core.errors import ServerError, TransportError
from tritonclient_shim.session.streams import ContextStream


@pytest.fixture
def fake() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def stream(fake: FakeBackend) -> ContextStream:
    return ContextStream(fake)  # type: ignore[arg-type]


def keep(stream: ContextStream, *numbers: int) -> list[Any]:
    """Send requests. Return the list that gets (number, outcome) of each."""
    got: list[Any] = []
    for number in numbers:
        stream.send(call(number), partial(_add, got, number))
    return got


def _add(got: list[Any], number: int, outcome: Any) -> None:
    got.append((number, outcome))


# ------------------------------------------------------------------------------- answers


def test_answers_without_id(fake: FakeBackend, stream: ContextStream) -> None:
    """A reply without id belongs to the oldest request (docs/v2-mapping.md §4)."""
    got = keep(stream, 1, 2)
    error = ServerError("no", "INTERNAL")
    fake.latest.on_reply("", error)
    fake.latest.on_reply("", "late")
    with pytest.raises(TransportError, match="an answer for request id ''"):
        fake.latest.on_reply("", "nobody's")
    assert got == [(1, error), (2, "late")]


# -------------------------------------------------------------------------------- breaks


@pytest.mark.parametrize("error", [LOST, None])
def test_end(fake: FakeBackend, stream: ContextStream, error: Any) -> None:
    """At the stream's end pending requests fail, oldest first. The next request opens a stream."""
    got = keep(stream, 1, 2)
    fake.latest.end(error)
    text = str(LOST) if error else "Stream has been closed."
    assert [(number, str(outcome)) for number, outcome in got] == [(1, text), (2, text)]
    again = keep(stream, 3)
    fake.latest.on_reply("3", "answer")
    assert (again, fake.sent, len(got)) == ([(3, "answer")], [["1", "2"], ["3"]], 2)


def test_end_that_has_not_been_told(fake: FakeBackend, stream: ContextStream) -> None:
    """A request that an ended stream refuses goes only to the next stream."""
    fake.latest.takes = False
    got = keep(stream, 1)
    fake.streams[0].end()
    fake.latest.on_reply("1", "answer")
    assert (got, fake.sent) == ([(1, "answer")], [[], ["1"]])


def test_many_threads_open_one_stream(fake: FakeBackend, stream: ContextStream) -> None:
    """Threads that meet a broken stream at one time share one new stream."""
    real, number, barrier = fake.open_stream, 8, threading.Barrier(8)

    def slowly(on_reply: Any, on_end: Any, headers: Any = ()) -> FakeStream:
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


# --------------------------------------------------------------------------------- close


class Collected(str):
    """A key whose look-up triggers a garbage collection that closes the stream."""

    stream: ContextStream

    def __hash__(self) -> int:
        self.stream.close(wait=False)
        return super().__hash__()


def test_close_by_the_garbage_collector(fake: FakeBackend, stream: ContextStream) -> None:
    """``__del__`` may run on the stream's own thread during a reply (docs/v1-behaviour.md §6)."""
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
    """close half-closes and waits, unless it may not wait. Nothing is opened afterwards."""
    if broken:
        fake.latest.end()
    stream.close(wait)
    assert fake.latest.closed == [wait]
    with pytest.raises(TransportError, match="Stream has been closed."):
        stream.send(call(1), print)
    assert fake.sent == [[]]

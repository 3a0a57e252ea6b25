"""Sequences and broken streams: no sequence continues over a gap."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.fake_streams import FakeBackend, call
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.core.model import InferReply
from tritonclient_shim.session import streams
from tritonclient_shim.session.streams import ContextStream, Sequences

REPLY = InferReply("m", "1", ())


@pytest.fixture
def fake() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def stream(fake: FakeBackend) -> ContextStream:
    return ContextStream(fake)  # type: ignore[arg-type]


BROKE = "in the midst of sequence 7: .* FLAG_SEQUENCE_START"


def test_ended_sequence(fake: FakeBackend, stream: ContextStream) -> None:
    """A sequence ends when its last request's reply says so, and not before."""
    stream.send(call(1, 7, start=True), print)
    stream.send(call(2, 7, end=True), print)
    fake.latest.on_reply("2", REPLY)
    stream.send(call(3, 8, start=True), print)
    stream.send(call(4, 8, end=True), print)
    fake.latest.end()
    stream.send(call(5, 7), print)  # for the server to refuse
    with pytest.raises(TransportError, match="sequence 8"):
        stream.send(call(6, 8), print)
    assert fake.latest.sent == ["5"]


def test_sequence_started_before_its_end_is_answered(
    fake: FakeBackend, stream: ContextStream
) -> None:
    """The last reply of a sequence ends no later sequence with this id."""
    stream.send(call(1, 7, start=True, end=True), print)
    stream.send(call(2, 7, start=True), print)
    fake.latest.on_reply("1", REPLY)
    fake.latest.end()
    with pytest.raises(TransportError, match=BROKE):
        stream.send(call(3, 7), print)


def test_sequences_without_end_are_forgotten_some_day(monkeypatch: Any) -> None:
    """Memory is bounded if sequences never end: the oldest are dropped."""
    monkeypatch.setattr(streams, "MOST", 2)
    table = Sequences()
    for number in (7, 8, 9):
        table.enter(call(number, number, start=True), 0, print)
    assert table.enter(call(1, 7), 1, print) is print
    for number in (8, 9):
        with pytest.raises(TransportError, match=f"sequence {number}"):
            table.enter(call(1, number), 1, print)

"""Sequences and broken streams: no sequence continues over a gap."""

from __future__ import annotations

from typing import Any

import pytest

from tests.streams.fake_streams import FakeBackend, call
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.session import streams
from tritonclient_shim.session.streams import ContextStream, Sequences


@pytest.fixture
def fake() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def stream(fake: FakeBackend) -> ContextStream:
    return ContextStream(fake)  # type: ignore[arg-type]


def test_sequence_of_a_broken_stream(fake: FakeBackend, stream: ContextStream) -> None:
    """A sequence continues on its own stream only, until it is started again."""
    stream.send(call(1, 7, start=True, end=True), print)
    fake.latest.end()
    stream.send(call(2, 9), print)  # for the server to refuse
    with pytest.raises(TransportError, match="in the midst of sequence 7: .* FLAG_SEQUENCE_START"):
        stream.send(call(3, 7, end=True), print)
    stream.send(call(4, 7, start=True), print)
    stream.send(call(5, 7), print)
    assert fake.latest.sent == ["2", "4", "5"]


def test_oldest_sequences_are_forgotten(monkeypatch: Any) -> None:
    """The number of remembered sequences is bounded: the oldest are dropped."""
    monkeypatch.setattr(streams, "MOST", 2)
    table = Sequences()
    for number in (7, 8, 9):
        table.check(call(number, number, start=True), 0)
    table.check(call(1, 7), 1)
    for number in (8, 9):
        with pytest.raises(TransportError, match=f"sequence {number}"):
            table.check(call(1, number), 1)

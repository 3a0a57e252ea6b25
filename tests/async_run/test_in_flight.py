"""The table of asynchronous requests, for states that no real server shows.

(docs/v1-behaviour.md §2.2, §5)
"""

from __future__ import annotations

import io
import sys
import threading
from typing import Any, Iterator

import pytest

from tritonclient_shim.core.errors import InferenceServerException, TransportError
from tritonclient_shim.session.exchange import Exchange
from tritonclient_shim.session.in_flight import Callback, InFlight
from tritonclient_shim.session.models import KnownModel

UNKNOWN = "The request ID doesn't match any existing asynchronous requests"
PATIENCE = 30.0


Table = InFlight[Exchange]


@pytest.fixture
def table() -> Iterator[Table]:
    table: Table = InFlight()
    yield table
    table.close()


def exchange(client_id: int) -> Exchange:
    """Return an exchange that is never sent."""
    session: Any = None
    return Exchange(session, KnownModel("m"), -1, 0, client_id)


def add(table: Table, client_id: int, callback: Callback | None) -> None:
    """Enter an inference under an id."""
    table.add(exchange(client_id), callback)


def complete(table: Table, client_id: int, text: str) -> None:
    """Complete an inference with a text that identifies the reply."""
    table.keep_outcome(client_id, TransportError(text))


def text_of(answer: Exchange) -> str:
    """Return the text of such a reply."""
    assert isinstance(answer.outcome, TransportError)
    return str(answer.outcome)


class Called:
    """A callback that waits until it may return."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.ids: list[int] = []
        self.entered = threading.Event()
        self.leave = threading.Event()

    def __call__(self, request_id: int) -> None:
        self.ids.append(request_id)
        self.entered.set()
        self.leave.wait(PATIENCE)


def refused(table: Table, request_id: int, wait: bool | None) -> str | None:
    with pytest.raises(InferenceServerException) as caught:
        table.take(request_id, wait)
    message: str | None = caught.value.message()
    return message


def test_known_from_the_callback_on(table: Table) -> None:
    """1.8's fetch does not know a completed request before its callback."""
    # docs/v1-behaviour.md §5
    first, second = Called(table), Called(table)
    add(table, 1, first)
    add(table, 2, second)
    complete(table, 1, "answer 1")
    assert first.entered.wait(PATIENCE)
    complete(table, 2, "answer 2")  # its callback waits for the end of the first callback
    assert refused(table, 2, None) == UNKNOWN
    taken = table.take(1, None)
    assert taken is not None
    assert text_of(taken) == "answer 1"
    second.leave.set()
    first.leave.set()
    assert second.entered.wait(PATIENCE)
    assert table.take(2, None) is not None


def test_queued_callbacks_are_dropped_at_close(table: Table) -> None:
    """close drops completed requests whose callback has not begun."""
    # docs/v1-behaviour.md §5
    first, second = Called(table), Called(table)
    add(table, 1, first)
    add(table, 2, second)
    complete(table, 1, "answer 1")
    assert first.entered.wait(PATIENCE)
    complete(table, 2, "answer 2")
    table.close()
    first.leave.set()
    again: Table = InFlight()
    assert second.ids == []
    again.close()


def test_close_that_need_not_wait(table: Table) -> None:
    """close over gRPC returns at once if no callback is outstanding (docs/v1-behaviour.md §5)."""
    add(table, 1, None)
    closer = threading.Thread(target=table.close, args=(True,), daemon=True)
    closer.start()
    closer.join(PATIENCE)
    assert not closer.is_alive()


def test_no_thread_for_a_callback(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no callback thread can be started, the request is refused before it is sent."""
    # docs/v1-behaviour.md §5

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(
        InferenceServerException, match="the callback cannot be called: can't start"
    ):
        add(table, 1, lambda number: None)
    add(table, 2, None)  # without a callback it works
    complete(table, 2, "outcome")
    assert table.take(2, True) is not None


class _Stderr:
    """A stream whose write raises."""

    def write(self, text: str) -> int:
        raise SystemExit("no room")


@pytest.mark.parametrize("stderr", [None, _Stderr(), io.StringIO()], ids=["none", "full", "memory"])
def test_callback_after_one_that_cannot_be_printed(
    table: Table,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stderr: Any,
) -> None:
    """An exception of a callback ends no thread, and is written only to stderr."""
    # docs/v1-behaviour.md §5
    after = Called(table)
    after.leave.set()

    def callback(request_id: int) -> None:
        raise ValueError

    monkeypatch.setattr(sys, "stderr", stderr)
    add(table, 1, callback)
    add(table, 2, after)
    complete(table, 1, "answer 1")
    complete(table, 2, "answer 2")
    assert after.entered.wait(PATIENCE)
    assert capsys.readouterr().out == ""
    assert "ValueError" in getattr(stderr, "getvalue", lambda: "ValueError")()

"""Reading of servers' replies: unexpected content becomes an error."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import DecodeError

from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    ServerError,
    TransportError,
    UnreadableReply,
)
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.core.reading import outcome_of, read, shown
from tritonclient_shim.session.server import ServerSession

FOREIGN = [
    TypeError("unhashable type: 'list'"),
    KeyError(""),
    IndexError("tuple index out of range"),
    ValueError("not enough values\n to unpack"),
    RecursionError("maximum recursion depth exceeded"),
    MemoryError(),
    AssertionError(),
    DecodeError("Error parsing message"),
    RuntimeError("x" * 10_000),
]


def raising(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize("error", FOREIGN, ids=repr)
def test_whatever_reading_raises_is_an_error(error: Exception) -> None:
    """A parser's exception is the cause of an error that says what and where to look."""
    # docs/v1-behaviour.md §1.6
    with pytest.raises(UnreadableReply) as caught:
        read(raising, error)
    outcome = outcome_of(raising, error)
    assert isinstance(outcome, UnreadableReply)
    for backend_error in (caught.value, outcome):
        assert backend_error.__cause__ is error
        assert type(error).__name__ in backend_error.message
        assert (
            "expected an answer of the KServe v2 protocol; check the server"
            in backend_error.message
        )
        assert len(backend_error.message) < 400
        assert "\n" not in backend_error.message


@pytest.mark.parametrize(
    "error", [ServerError("no", "INTERNAL"), TransportError("gone"), ForeignError("html")]
)
def test_errors_pass(error: BackendError) -> None:
    """A reader's own error stays unchanged."""
    with pytest.raises(BackendError) as caught:
        read(raising, error)
    assert caught.value is error
    assert outcome_of(raising, error) is error


def test_the_users_error() -> None:
    """The error is a client error with the sentence, whatever v1's text would be."""
    # docs/v1-behaviour.md §1.6
    session = ServerSession(Endpoint("http", "127.0.0.1:9"))
    error = session.to_v1_error(UnreadableReply("its 'id' is 5", "a string"), 9, "no status")
    assert str(error) == (
        "[ 0] the server's answer could not be read: its 'id' is 5; expected a string; check the "
        "server at this url, and any proxy in front of it"
    )


@pytest.mark.parametrize("value", [["x" * 10_000] * 10_000, {"a": {"b": {"c": {}}}}, b"x" * 10_000])
def test_parts_of_answers_are_shown_short(value: Any) -> None:
    """A message repeats little of a large reply."""
    assert len(shown(value)) < 500

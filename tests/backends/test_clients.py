"""Clients that a backend derives from tritonclient's (backends/clients.py)."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim.backends import clients


@pytest.mark.parametrize("ending", [False, True])
def test_a_dropped_client_closes_unless_the_interpreter_ends(
    monkeypatch: Any, ending: bool
) -> None:
    """At the interpreter's end a client is not closed, because close would hang."""
    closed: list[Any] = []

    class Client:
        """A client of tritonclient's."""

    client = clients.user_client_class(Client, close=lambda _: closed.append(1))()
    monkeypatch.setattr("sys.is_finalizing", lambda: ending)
    del client
    assert closed == ([] if ending else [1])

"""Asynchronous requests of the HTTP client that users get."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tritonclient_shim.backends.http.deferred import Deferred


@pytest.mark.parametrize("kind", [TypeError, KeyError, MemoryError, RecursionError, SystemExit])
def test_whatever_is_raised_is_the_outcome(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reading the answer raises reaches who asks for it, and ends no thread."""
    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", died.append)

    def act() -> None:
        raise kind("odd answer")

    deferred = Deferred(act, ())
    thread = threading.Thread(target=deferred.run)
    thread.start()
    thread.join()
    with pytest.raises(kind, match="odd answer"):
        deferred.get()
    assert not died

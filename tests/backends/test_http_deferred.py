"""Asynchronous requests of the HTTP client that users get."""

from __future__ import annotations

import threading
from typing import Any

import gevent
import pytest

from tritonclient_shim.backends.http.users_client import ThreadPool
from tritonclient_shim.core.daemon_executor import DaemonExecutor

PATIENCE = 30.0


EXECUTOR = DaemonExecutor(2, "test")


@pytest.mark.parametrize(
    "kind", [TypeError, KeyError, MemoryError, RecursionError, TimeoutError, SystemExit]
)
def test_whatever_is_raised_is_the_outcome(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception while reading the reply reaches the caller, and ends no thread."""
    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", died.append)

    def act() -> None:
        raise kind("odd answer")

    deferred = ThreadPool(EXECUTOR).apply_async(act, ())
    with pytest.raises(kind, match="odd answer"):
        deferred.get(timeout=PATIENCE)
    assert not died


def test_no_answer_yet() -> None:
    """A fetch that waits too short raises an error, and the result can still be fetched."""
    pool, answered = ThreadPool(EXECUTOR), threading.Event()
    deferred = pool.apply_async(answered.wait, (PATIENCE,))
    for arguments in ({"block": False}, {"timeout": 0.01}):
        with pytest.raises(gevent.Timeout):
            deferred.get(**arguments)
    answered.set()
    pool.join()
    assert deferred.get(block=False) is True

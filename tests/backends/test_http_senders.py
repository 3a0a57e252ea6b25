"""The threads behind asynchronous requests."""

from __future__ import annotations

import threading
from functools import partial
from queue import SimpleQueue

import pytest

from tritonclient_shim.backends.http.senders import Senders

PATIENCE = 30.0


def test_jobs_run_at_the_same_time_up_to_the_limit() -> None:
    """As many jobs run at once as there may be threads; the rest wait their turn."""
    senders = Senders(limit=3)
    running: SimpleQueue[int] = SimpleQueue()
    gate = threading.Event()

    def job(number: int) -> None:
        running.put(number)
        gate.wait(PATIENCE)

    for number in range(5):
        senders.submit(partial(job, number))
    first = {running.get(timeout=PATIENCE) for _ in range(3)}
    assert first == {0, 1, 2}
    assert running.empty()
    gate.set()
    assert {running.get(timeout=PATIENCE) for _ in range(2)} == {3, 4}


def test_idle_thread_is_used_again() -> None:
    """A job that comes when a thread waits starts no other thread."""
    senders = Senders()
    names: SimpleQueue[int] = SimpleQueue()
    seen = set()
    for _ in range(20):
        senders.submit(lambda: names.put(threading.get_ident()))
        seen.add(names.get(timeout=PATIENCE))
    assert len(seen) <= 2  # the second, when a job came before its thread waited again


def test_idle_threads_end() -> None:
    """Without jobs the threads end after a while, and new jobs still run."""
    senders = Senders(linger=0.01)
    threads: SimpleQueue[threading.Thread] = SimpleQueue()
    senders.submit(lambda: threads.put(threading.current_thread()))
    first = threads.get(timeout=PATIENCE)
    assert first.daemon
    first.join(PATIENCE)
    assert not first.is_alive()
    senders.submit(lambda: threads.put(threading.current_thread()))
    assert threads.get(timeout=PATIENCE) is not first


def test_job_that_raises_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in one job costs its thread only, and shows as any thread's defect does."""
    shown: SimpleQueue[threading.ExceptHookArgs] = SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", shown.put)
    senders = Senders(limit=1)
    done = threading.Event()
    started = threading.Event()

    def defect() -> None:
        started.wait(PATIENCE)
        raise AssertionError("a defect")

    senders.submit(defect)
    senders.submit(done.set)
    started.set()
    assert done.wait(PATIENCE)
    assert shown.get(timeout=PATIENCE).exc_type is AssertionError


def test_no_thread_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """When not one thread can be started, the submitter learns it and no job stays behind."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    senders = Senders()
    ran: SimpleQueue[str] = SimpleQueue()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            senders.submit(lambda: ran.put("lost"))
    senders.submit(lambda: ran.put("next"))
    assert ran.get(timeout=PATIENCE) == "next"

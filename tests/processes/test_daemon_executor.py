"""The executor of daemon threads, for asynchronous requests and the gateway."""

from __future__ import annotations

import sys
import threading
import time
from queue import SimpleQueue

import pytest

from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor

PATIENCE = 30.0


def refuse(thread: threading.Thread) -> None:
    """Start no thread, as where the system has no room for one."""
    raise RuntimeError("can't start new thread")


def test_jobs_run_at_the_same_time_up_to_the_limit() -> None:
    """As many jobs run at once as the thread limit allows; more jobs wait."""
    executor = DaemonExecutor(3, "test")
    running: SimpleQueue[int] = SimpleQueue()
    gate = threading.Event()

    def job(number: int) -> None:
        running.put(number)
        gate.wait(PATIENCE)

    for number in range(5):
        executor.submit(job, number)
    first = {running.get(timeout=PATIENCE) for _ in range(3)}
    assert first == {0, 1, 2}
    assert running.empty()
    gate.set()
    assert {running.get(timeout=PATIENCE) for _ in range(2)} == {3, 4}


def test_no_more_threads_than_jobs() -> None:
    """Jobs take the threads that are idle: bursts of three jobs never have more than three."""
    executor = DaemonExecutor(64, "test")
    threads: set[threading.Thread] = set()
    for _ in range(300):
        futures = [executor.submit(threading.current_thread) for _ in range(3)]
        threads.update(future.result(PATIENCE) for future in futures)
        while executor._pending or executor._waiting < executor._running:
            time.sleep(0)  # a thread tells the result before it is idle
    assert len(threads) <= 3


def test_idle_threads_end() -> None:
    """Idle threads end after a while, and new jobs still run."""
    executor = DaemonExecutor(2, "test", linger=0.01)
    threads: SimpleQueue[threading.Thread] = SimpleQueue()
    executor.execute(lambda: threads.put(threading.current_thread()))
    first = threads.get(timeout=PATIENCE)
    assert first.daemon
    first.join(PATIENCE)
    assert not first.is_alive()
    executor.execute(lambda: threads.put(threading.current_thread()))
    assert threads.get(timeout=PATIENCE) is not first


def test_job_that_raises_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """An uncaught exception of a job is reported as a thread's, and other jobs still run."""
    shown: SimpleQueue[threading.ExceptHookArgs] = SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", shown.put)
    executor = DaemonExecutor(1, "test")
    done = threading.Event()
    started = threading.Event()

    def defect() -> None:
        started.wait(PATIENCE)
        raise AssertionError("a defect")

    executor.execute(defect)
    executor.execute(done.set)
    started.set()
    assert done.wait(PATIENCE)
    assert shown.get(timeout=PATIENCE).exc_type is AssertionError


def test_no_thread_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no thread can be started, submit raises the error and drops the job."""
    executor = DaemonExecutor(64, "test")
    ran: SimpleQueue[str] = SimpleQueue()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            executor.execute(lambda: ran.put("lost"))
    executor.execute(lambda: ran.put("next"))
    assert ran.get(timeout=PATIENCE) == "next"


def test_future_has_the_outcome() -> None:
    """A future has the job's result or exception; a cancelled job does not run."""
    executor = DaemonExecutor(1, "test")
    gate = threading.Event()
    assert executor.submit(divmod, 7, 3).result(PATIENCE) == (2, 1)
    assert isinstance(executor.submit(sys.exit, "odd").exception(PATIENCE), SystemExit)
    busy = executor.submit(gate.wait, PATIENCE)
    ran: list[str] = []
    cancelled = executor.submit(ran.append, "cancelled")
    assert cancelled.cancel()
    gate.set()
    assert busy.result(PATIENCE) is True
    assert executor.submit(int).result(PATIENCE) == 0
    assert cancelled.cancelled()
    assert not ran

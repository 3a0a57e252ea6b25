"""Many calls, threads and contexts: no mixed results, and nothing accumulates."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext
from tests.reliability.amounts import amount
from tests.reliability.identified_calls import (
    KINDS,
    OUTPUTS,
    STYLES,
    ask,
    numbers,
    payload,
)

THREADS = 16
HOUR = 3600.0
#: Growth that is no leak: caches, allocators and pools grow in the warm-up.
DESCRIPTORS, MEGABYTES = 4, 12


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, triton: Any) -> tuple[str, int, bool]:
    """Return url, protocol and streaming of one way to call."""
    protocol, streaming = KINDS[request.param]
    return triton.url(protocol), protocol, streaming


@pytest.fixture
def context(kind: tuple[str, int, bool]) -> Iterator[InferContext]:
    """Yield an open context, closed at the end."""
    with opened(kind) as context:
        yield context


def opened(kind: tuple[str, int, bool]) -> InferContext:
    """Return a context of a model that returns its input."""
    return InferContext(kind[0], kind[1], "identity_int32", streaming=kind[2])


def descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def megabytes() -> float:
    """Return the memory of this process in megabytes."""
    with open("/proc/self/statm", encoding="ascii") as text:
        return int(text.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def check_growth(use: Callable[[int], None], warm_up: int, number: int, each: float = 0) -> None:
    """Check that ``use`` leaves no descriptor or thread behind, and ``each`` megabytes at most."""
    use(warm_up)
    limits = [
        (descriptors, descriptors() + DESCRIPTORS),
        (threading.active_count, threading.active_count() + 1),
        (megabytes, megabytes() + MEGABYTES + number * each),
    ]
    use(number)
    for measure, limit in limits:
        for _ in range(100):
            gc.collect()
            if measure() <= limit:
                break
            time.sleep(0.1)
        assert measure() <= limit


def test_threads_on_one_context(context: InferContext) -> None:
    """16 threads call in every style, and each gets its own request's result."""
    each = max(amount("calls of 16 threads on one context") // THREADS, 1)

    def work(thread: int) -> None:
        for step in range(each):
            outcome = ask(context, STYLES[(thread + step) % 3], next(numbers), 3 + step % 50)
            assert outcome.message == ""
            assert len(outcome.callbacks) == outcome.expected_callbacks

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(work, range(THREADS), timeout=HOUR))


def test_contexts_opened_and_dropped(kind: tuple[str, int, bool]) -> None:
    """Contexts come and go, every second without a close, some with a pending request."""

    def use(count: int) -> None:
        for step in range(count):
            context = opened(kind)
            if step % 3 == 0:
                assert ask(context, STYLES[step % 9 // 3], next(numbers), 10).message == ""
            if step % 5 == 0:
                context.async_run(lambda *_: None, {"INPUT0": [payload(step, 10)]}, OUTPUTS)
            if step % 2:
                context.close()

    check_growth(use, 60, amount("contexts opened and dropped"), each=0.001)


def test_soak(context: InferContext) -> None:
    """Descriptors, threads and memory do not grow after the first calls."""

    def use(count: int) -> None:
        for step in range(count):
            assert ask(context, STYLES[step % 3], next(numbers), 500).message == ""

    check_growth(use, 600, amount("calls of a soak"))


def test_unfetched_results(kind: tuple[str, int, bool]) -> None:
    """Results wait to be fetched, and closing the context drops them."""
    number, callbacks = amount("results that nobody fetches"), threading.Semaphore(0)
    context = opened(kind)
    before = megabytes()
    for step in range(number):
        inputs = {"INPUT0": [np.full(16, step, np.int32)]}
        context.async_run(lambda *_: callbacks.release(), inputs, OUTPUTS)
    for _ in range(number):
        assert callbacks.acquire(timeout=60)
    cost = megabytes() - before
    last = context.get_async_run_results(number)
    assert last["OUTPUT0"][0].tolist() == [number - 1] * 16
    context.close()
    assert cost <= MEGABYTES + number * 0.024, f"{cost * 1e3 / number:.1f} KB each"
    sys.stdout.write(f"{cost * 1e3 / number:.1f} KB each\n")

"""A program that has children in one way while contexts are open, and checks both sides.

Arguments: url, protocol, streaming, way of having children, and the thread that has them.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
import sys
import threading
from functools import partial
from typing import Any, Callable

import numpy as np

from tensorrtserver.api import InferContext

RAW = {"OUTPUT0": InferContext.ResultFormat.RAW}
WORKERS = 2
inherited: list[Any] = []


def right(context: InferContext, number: int) -> bool:
    """True if the context answers in each style, and each request with its own data."""
    inputs = {"INPUT0": [np.full(16, number, np.int32)]}
    result = [context.run(inputs, RAW)]
    result.append(context.get_async_run_results(context.async_run(inputs, RAW), True))
    done = threading.Event()
    ids: list[int] = []
    context.async_run(lambda _, request_id: (ids.append(request_id), done.set()), inputs, RAW)
    assert done.wait(30)
    result.append(context.get_async_run_results(ids[0]))
    return all(item["OUTPUT0"][0].tolist() == [number] * 16 for item in result)


def opened(url: str, protocol: int, streaming: bool) -> InferContext:
    """Return a context of a model that returns its input."""
    return InferContext(url, protocol, "identity_int32", streaming=streaming)


def work(kind: Any, number: int) -> bool:
    """Check a child's contexts: a new context and those that it has inherited."""
    signal.alarm(60)
    with opened(*kind) as own:
        fine = right(own, number)
    return fine and all(right(context, number + 1) for context in inherited)


def by_os_fork(kind: Any, first: int) -> list[bool]:
    """Start workers by ``os.fork``, as a pre-forking server does."""
    children = []
    for number in range(first, first + WORKERS):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if work(kind, number) else 1
            finally:
                os._exit(status)
        children.append(child)
    return [os.waitpid(child, 0)[1] == 0 for child in children]


def by_process(kind: Any, first: int) -> list[bool]:
    """Start workers by ``multiprocessing.Process`` with the start method ``fork``."""

    def worker(number: int) -> None:
        sys.exit(0 if work(kind, number) else 1)

    fork: Any = multiprocessing.get_context("fork")
    children = [fork.Process(target=worker, args=(first + number,)) for number in range(WORKERS)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    return [child.exitcode == 0 for child in children]


def by_executor(method: str, kind: Any, first: int) -> list[bool]:
    """Start workers by ``concurrent.futures.ProcessPoolExecutor`` with a start method."""
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(WORKERS, context) as pool:
        jobs = [pool.submit(work, kind, first + number) for number in range(2 * WORKERS)]
        return [job.result(60) for job in jobs]


WAYS: dict[str, Callable[[Any, int], list[bool]]] = {
    "os.fork": by_os_fork,
    "process": by_process,
    **{method: partial(by_executor, method) for method in ("fork", "forkserver", "spawn")},
}


def main(url: str, protocol: str, streaming: str, way: str, thread: str) -> None:
    """Start workers twice, as a server that replaces its workers, with calls in between."""
    kind = (url, int(protocol), streaming == "True")
    if way == "forkserver":  # its first process starts before the first context
        multiprocessing.get_context("forkserver").Process(target=print).start()
    inherited.append(opened(*kind))
    assert right(inherited[0], 1)
    outcomes: list[list[bool]] = []

    def have() -> None:
        for generation in (10, 20):
            outcomes.append(WAYS[way](kind, generation))
            assert right(inherited[0], generation + 9)

    if thread == "main":
        have()
    else:
        other = threading.Thread(target=have)
        other.start()
        other.join()
    assert len(outcomes) == 2 and all(map(all, outcomes)), outcomes
    sys.exit(3)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Children of a process with open contexts: parent and child go on, for every way to fork."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tensorrtserver.shared_memory as shm
from tensorrtserver.api import InferenceServerException, SharedMemoryControlContext
from tests.infer_cases import wait_for
from tests.own_interpreter import run_program
from tests.relays import Relay
from tests.reliability.amounts import amount, is_short, some
from tests.reliability.identified_calls import KINDS

PROGRAM = Path(__file__).with_name("fork_program.py")
BUSY_PROGRAM = Path(__file__).with_name("busy_fork_program.py")
FORKS = ("os.fork", "process", "fork")
WAYS = (*FORKS, "spawn", "forkserver")
THREADS = ("main", "other")
#: The other kinds have such children too, and programs that start anew take long.
TRIED = WAYS[:-1] if is_short() else WAYS


def variables(way: str) -> dict[str, str]:
    """Return the variables that docs/processes.md recommends."""
    support = {"GRPC_ENABLE_FORK_SUPPORT": "1"} if way in FORKS else {}
    if way not in FORKS and sys.version_info < (3, 10):
        support = {"GRPC_ENABLE_FORK_SUPPORT": "0"}
    return support


def registered(url: str, handle: Any) -> bool:
    """Register a region, which may be registered already, and unregister it."""
    with SharedMemoryControlContext(url, 0) as control:
        with suppress(InferenceServerException):  # the other process has registered the name
            control.register(handle)
        control.unregister(handle)
        return True


@pytest.mark.parametrize("way", TRIED)
def test_children(way: str, triton: Any) -> None:
    """Two generations of children, from the main thread and another thread, get correct results."""
    cells = [(kind, thread) for thread in THREADS for kind in KINDS]
    for kind, thread in some(cells, "ways of having children", WAYS.index(way)):
        protocol, streaming = KINDS[kind]
        arguments = (triton.url(protocol), protocol, streaming, way, thread)
        ended = run_program(PROGRAM, *arguments, **variables(way))
        assert ended.status == 3, (kind, thread, ended.stderr)


def test_fork_while_threads_work() -> None:
    """No child misses a lock, a thread or a place in a queue of its parent."""
    children = amount("children of a busy process")
    ended = run_program(BUSY_PROGRAM, children)
    assert ended.status == 3, ended.stderr


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork_while_a_thread_registers(triton: Any) -> None:
    """A child registers a region while its parent's thread waits for the server's reply."""
    key = f"/shim_fork_{os.getpid()}"
    handle = shm.create_shared_memory_region(key[1:], key, 16)
    with Relay(triton.http) as relay, ThreadPoolExecutor(1) as threads:
        relay.flows.clear()
        registering = threads.submit(registered, relay.address, handle)
        wait_for(lambda: relay.connections)  # the thread holds the server's lock while it connects
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(60)
                status = 0 if registered(relay.address, handle) else 2
            finally:
                os._exit(status)
        relay.flows.set()
        assert os.waitpid(child, 0)[1] == 0
        assert registering.result(60)
    shm.destroy_shared_memory_region(handle)

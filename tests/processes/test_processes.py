"""Contexts in forked children, and at the end of the interpreter (docs/v1-behaviour.md §5)."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any, Callable

import pytest

from tensorrtserver.api import InferContext
from tests.infer_cases import BOTH, SUM, Completions, add_sub
from tests.own_interpreter import run_program


def in_child(work: Callable[[], bool]) -> int:
    """Return the exit status of a forked child that does ``work``. Kill the child if it hangs."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    timer = threading.Timer(20, os.kill, (child, signal.SIGKILL))
    timer.start()
    status = os.waitpid(child, 0)[1]
    timer.cancel()
    return status


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.smoke
def test_child_makes_its_own(triton: Any) -> None:
    """A child of a process that has used contexts can make its own."""
    # docs/v1-behaviour.md §F.5
    with InferContext(triton.http, 0, "simple") as context:
        context.run(add_sub(), BOTH)

        def work() -> bool:
            done = Completions()
            with InferContext(triton.http, 0, "simple") as own:
                own.async_run(done, add_sub(), BOTH)
                results: Any = own.get_async_run_results(*done.wait())
                return bool(results["OUTPUT0"][0].tolist() == SUM)

        assert in_child(work) == 0
        assert context.run(add_sub(), BOTH)["OUTPUT0"][0].tolist() == SUM


#: A child infers over gRPC before its parent does. gRPC itself does not support both.
FORK = """
import os, sys
import numpy as np
from tensorrtserver.api import *
a = np.arange(16, dtype=np.int32)
def work():
    with InferContext(sys.argv[1], 1, 'simple') as context:
        r = context.run({'INPUT0': [a], 'INPUT1': [a]}, {'OUTPUT0': InferContext.ResultFormat.RAW})
        return r['OUTPUT0'][0].tolist() == (a * 2).tolist()
child = os.fork()
if child == 0:
    os._exit(0 if work() else 1)
assert os.waitpid(child, 0)[1] == 0
assert work()
"""


def test_grpc_in_a_forked_child(triton: Any) -> None:
    """gRPC works in a child, and then in the parent that forked before using it."""
    # docs/v1-behaviour.md §F.5
    assert run_program(FORK, triton.grpc) == (0, "", "")


#: A process with a fork handler that, like gRPC's, closes an inherited socket in the child.
HANDLER = """
import os, socket, sys
from tritonclient_shim.backends.grpc import forks
inherited = socket.socket()
number = inherited.fileno()
os.register_at_fork(after_in_child=inherited.close)
forks.calls.guard_forks()
child = os.fork()
if child == 0:
    with socket.socket() as own:
        os._exit(int(own.fileno() == number) or 2 * int(inherited.fileno() != -1))
assert os.waitpid(child, 0)[1] == 0
assert inherited.fileno() == number
"""


def test_number_of_a_closed_socket() -> None:
    """A child's new connection has another number than a socket closed by the fork."""
    # docs/v2-mapping.md §10
    assert run_program(HANDLER) == (0, "", "")

"""gRPC contexts and forks, as docs/processes.md describes: what works, and what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.own_interpreter import run_program

#: A streaming context that is used on both sides of a fork, its sequence in the parent.
STREAM = """
import os, signal, sys
import numpy as np
from tensorrtserver.api import *
RAW = {'OUTPUT': InferContext.ResultFormat.RAW}
def step(context, value, flags=0, sequence=0):
    inputs = {'INPUT': [np.array([value], np.int32)]}
    return context.run(inputs, RAW, 1, flags, sequence)['OUTPUT'][0].item()
context = InferContext(sys.argv[1], 1, 'sequence_sum', streaming=True)
assert step(context, 5, 1, 9500) == 5
child = os.fork()
if child == 0:
    signal.alarm(20)
    sums = [step(context, 1, 1, 9501), step(context, 2, 0, 9501), step(context, 3, 2, 9501)]
    context.close() if sys.argv[2] == 'close' else context.__del__()
    os._exit(0 if sums == [1, 3, 6] else 1)
assert os.waitpid(child, 0)[1] == 0
assert [step(context, 6, 0, 9500), step(context, 7, 2)] == [11, 18]
"""


#: A child that fetches results of its parent's requests, and sends its own.
FETCH = """
import os, signal, sys
import numpy as np
from tensorrtserver.api import *
from tritonclient_shim.backends.grpc import forks
forks.PATIENCE = 0.1  # the fork does not wait for the answers
url, protocol, streaming = sys.argv[1], int(sys.argv[2]), sys.argv[3] == 'stream'
RAW = {'OUTPUT0': InferContext.ResultFormat.RAW}
def send(context):
    return context.async_run({'INPUT0': [np.array([1], np.float32)]}, RAW, 1)
context = InferContext(url, protocol, 'slow', streaming=streaming)
first = send(context)
called = []
context.async_run(lambda _, number: called.append(number),
                  {'INPUT0': [np.array([2], np.float32)]}, RAW)
child = os.fork()
if child == 0:
    signal.alarm(30)
    assert context.get_ready_async_request(True) == first
    for number in (first, 2):
        try:
            context.get_async_run_results(number, True)
        except InferenceServerException as error:
            assert f"request {number} was sent before this process was forked" in str(error), error
            assert (error.server_id(), error.request_id()) == ('', 0)
        else:
            os._exit(2)
    if protocol == 0:
        assert context.get_async_run_results(send(context), True)['OUTPUT0'][0][0] == 1
    else:
        try:
            context.get_async_run_results(send(context), True)
        except InferenceServerException as error:
            text = "forked while 2 gRPC calls of its parent were under way"
            assert text in str(error) and "0.1 seconds" in str(error), error
        else:
            os._exit(3)
    context.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert context.get_async_run_results(first, True)['OUTPUT0'][0][0] == 1
assert context.get_async_run_results(2, True)['OUTPUT0'][0][0] == 2
"""

#: Forks of the main thread while eight threads call over one context.
CALLS = """
import os, sys, threading, time
import numpy as np
from tensorrtserver.api import *
A = np.arange(16, dtype=np.int32)
INPUTS, RAW = {'INPUT0': [A], 'INPUT1': [A]}, {'OUTPUT0': InferContext.ResultFormat.RAW}
def run(context, way='run'):
    if way == 'async_run':
        result = context.get_async_run_results(context.async_run(INPUTS, RAW), True)
    else:
        result = context.run(INPUTS, RAW)
    assert result['OUTPUT0'][0].tolist() == (A * 2).tolist()
url, way, streaming = sys.argv[1], sys.argv[2], sys.argv[3] == 'stream'
context = InferContext(url, 1, 'simple', streaming=streaming)
run(context)
def loop(number):
    while True:
        run(context, way)
        counts[number] += 1
def wait_for_all_threads():
    before = list(counts)
    while any(now == then for now, then in zip(counts, before)):
        assert all(thread.is_alive() for thread in threads)
        time.sleep(0.001)
def work():
    run(context, way)
    with InferContext(url, 1, 'simple', streaming=streaming) as own:
        run(own, way)
counts = [0] * 8
threads = [threading.Thread(target=loop, args=(n,), daemon=True) for n in range(8)]
for thread in threads:
    thread.start()
for _ in range(8):
    wait_for_all_threads()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    end, ended = time.monotonic() + 20, 0
    while not ended and time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.005)
    if not ended:
        os.kill(child, 9)
    assert ended and status == 0, status if ended else 'the child hangs'
wait_for_all_threads()
os._exit(0)
"""


#: What gRPC prints if its own threads were at work during a fork (docs/processes.md).
SKIPPED = "skipping fork() handlers"


def run(text: str, folder: Path, *arguments: str, **variables: str) -> None:
    """Run the program in an interpreter of its own; it must succeed.

    Run it again if gRPC reports that it was not ready for a fork, which nobody can prevent.
    """
    program = folder / "program.py"
    program.write_text(text, "utf-8")
    ended = run_program(program, *arguments, **variables)
    if ended.status != 0 and SKIPPED in ended.stderr:
        ended = run_program(program, *arguments, **variables)
    assert ended.status == 0, ended.stderr


@pytest.mark.parametrize(
    ("way", "support"),
    [("run", ""), ("run stream", "1"), ("async_run", "1"), ("async_run stream", "")],
)
def test_fork_while_threads_call(triton: Any, tmp_path: Path, way: str, support: str) -> None:
    """Children that are forked while eight threads call work, and so do the threads."""
    method, _, kind = way.partition(" ")
    variables = {"GRPC_ENABLE_FORK_SUPPORT": support} if support else {}
    run(CALLS, tmp_path, triton.grpc, method, kind, **variables)


@pytest.mark.parametrize("end", ["close", "drop"])
def test_stream_in_a_forked_child(triton: Any, tmp_path: Path, end: str) -> None:
    """A child opens its own stream and leaves its parent's alone. The parent's sequence goes on."""
    run(STREAM, tmp_path, triton.grpc, end, GRPC_ENABLE_FORK_SUPPORT="1")


@pytest.mark.parametrize("way", ["0 unary", "1 unary", "1 stream"])
def test_requests_of_the_parent(triton: Any, tmp_path: Path, way: str) -> None:
    """A child that fetches a result of its parent's requests gets an error.

    Its own requests work.
    """
    protocol, kind = way.split()
    run(FETCH, tmp_path, triton.url(int(protocol)), protocol, kind, GRPC_ENABLE_FORK_SUPPORT="0")

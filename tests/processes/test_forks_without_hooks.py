"""Children of forks that do not run Python's hooks, such as those of uWSGI."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.own_interpreter import run_program
from tests.relays import Relay

PROGRAM = """
import ctypes, os, signal, sys, time
import numpy as np
from tensorrtserver.api import *
http, url, before, after = sys.argv[1:]
A = np.arange(16, dtype=np.int32)
INPUTS, RAW = {'INPUT0': [A], 'INPUT1': [A]}, {'OUTPUT0': InferContext.ResultFormat.RAW}
contexts = {}
def context(kind):
    if kind not in contexts:
        protocol = 0 if 'http' in kind else 1
        contexts[kind] = InferContext((http, url)[protocol], protocol, 'simple',
                                      streaming='stream' in kind)
    return contexts[kind]
def run(kind):
    return context(kind).run(INPUTS, RAW)
def async_run(kind):
    return context(kind).get_async_run_results(context(kind).async_run(INPUTS, RAW), True)
def callback(kind):
    import queue
    results = queue.SimpleQueue()
    def fetch(own, number):
        results.put(own.get_async_run_results(number))
    context(kind).async_run(fetch, INPUTS, RAW)
    return results.get(timeout=30)
def call(way):
    method, kind = way.split()
    result = globals()[method](kind)
    assert result['OUTPUT0'][0].tolist() == (A * 2).tolist()
call(before)
time.sleep(1)  # until threads are idle
child = ctypes.PyDLL(None).fork()
if child == 0:
    try:
        call(after)
    except InferenceServerException as error:
        print(error, flush=True)
        for each in contexts.values():
            each.close()
        os._exit(2)
    os._exit(0)
def kill(*_):
    os.kill(child, signal.SIGKILL)
signal.signal(signal.SIGALRM, kill)
signal.alarm(20)
status = os.waitpid(child, 0)[1]
signal.alarm(0)
call(before)
os._exit(status >> 8 if os.WIFEXITED(status) else 100 + status)
"""


def fork(triton: Any, before: str, after: str) -> Any:
    """Run a program that calls one way before a fork, and another way in the child.

    Run it again if the child hangs: Python's own lock does not survive such a fork if a thread
    waits for it at that moment. gRPC's threads wake up several times a second. The parent ends such
    a child, which may not even come to its first line.
    """
    for _ in range(3):
        ended = run_program(PROGRAM, triton.http, triton.grpc, before, after)
        if ended.status != 100 + signal.SIGKILL:
            break
    return ended


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("async_run http", "async_run http"),
        ("callback http", "callback http"),
        ("run grpc", "callback grpc"),
        ("run grpc", "run stream"),
    ],
)
def test_inherited_state(triton: Any, before: str, after: str) -> None:
    """A child begins with threads and connections of its own."""
    ended = fork(triton, before, after)
    assert ended.status == 0, (ended.status, ended.stdout, ended.stderr)


@pytest.mark.parametrize("before", ["run stream", "async_run grpc"])
@pytest.mark.parametrize("after", ["run stream", "run grpc"])
def test_threads_of_grpc(triton: Any, before: str, after: str) -> None:
    """A child whose parent has used gRPC's own threads gets an error that names the remedy."""
    ended = fork(triton, before, after)
    assert ended.status == 2, (ended.status, ended.stdout, ended.stderr)
    assert "had sent asynchronous requests or streams" in ended.stdout
    assert "under uWSGI set lazy-apps" in ended.stdout


def test_kept_connection(triton: Any) -> None:
    """A child does not use the kept HTTP connection of its parent: replies would be exchanged."""
    with Relay(triton.http) as relay:
        ended = run_program(PROGRAM, relay.address, triton.grpc, "run http", "run http")
        assert ended.status == 0, (ended.status, ended.stdout, ended.stderr)
        assert relay.connections == 2
